import { Context } from '@temporalio/activity';
import type { AbsentRecords, FindAbsentInput } from '../../core/contract/index.js';
import type { RunFile } from '../../lake/documents/run-file.js';
import type { Stage } from '../../lake/documents/stage-file.js';
import { detached, type SortKey } from '../../lake/rows/row.js';
import { isSampled } from '../audit-tally.js';
import { DELETE_LIMIT_ROWS } from '../delete-rules.js';
import { finalFailure } from '../failures.js';
import { openSources } from '../merge/sources.js';
import { countedTimes } from '../read/watermark.js';
import { type RunAt, readStages } from '../staging.js';
import { findAbsent, judgeAbsence } from './absent-rows.js';

/** Finds live rows of the base snapshot that no reading of the list has returned (docs/explanation/guarantees.md#deletes). */
export async function findAbsentRecords({ staging }: RunAt, input: FindAbsentInput): Promise<AbsentRecords> {
  const { store } = staging;
  const { run, stage: last, keys: known } = await staging.journal();
  const stages = await readStages(staging, last);
  const among = input.among === null ? null : new Set(known[input.among]);
  const { before, resource, audit } = run;
  // An audit asks again for the records that only GET by id has shown.
  const counts = (stage: Stage): boolean => stage.read >= input.sinceRead && !(audit && stage.isById);
  const chunks = stages.filter(counts).flatMap((stage) => stage.chunks);
  const proven = input.proven === undefined ? [] : known[input.proven]!;
  const list = input.among === null ? 'absent' : 'gone';
  const decide = (
    found: readonly SortKey[],
    answer: Omit<AbsentRecords, 'keys' | 'count'> & Partial<Pick<AbsentRecords, 'count'>>,
  ) =>
    staging.decide<AbsentRecords>(
      { keys: list, count: found.length, ...answer },
      { phase: 'settle', keys: { ...known, [list]: found } },
    );
  const isAsked = askedOf(run);
  const keys: SortKey[] = [];
  const parts = before?.parts.filter((part) => part.rows > 0) ?? [];
  if (before === null || parts.length === 0) return decide(keys, { expected: 0 });
  const { columns } = stages.at(-1)!;
  // A sample has rows outside of the window, too: they are compared if GET by id shows them.
  const windowMs = audit?.sample === undefined ? resource.windowMs : null;
  const judged = { ...resource, windowMs, csv: before.profile.csv };
  const judge = judgeAbsence(judged, columns, serviceTime(run, stages));
  let expected = 0;
  let count = 0;
  for (const [at, part] of parts.entries()) {
    // New rows before, between and after the parts are looked at only for their dates.
    const isAll = judge.note !== null;
    const from = at === 0 && isAll ? null : part.first;
    const to = parts[at + 1]?.first ?? null;
    const [low, high] = isAll ? [from, to] : [part.first, part.last];
    const reach = chunks.filter(
      ({ first, last }) => (low === null || last >= low) && (high === null || first <= high),
    );
    const sources = await openSources({
      store,
      run,
      written: null,
      range: { from, to },
      before: part,
      chunks: reach,
      signal: Context.current().cancellationSignal,
    });
    expected += await findAbsent(sources, judge, (key) => {
      if (input.onlyCounts === true) count++;
      else if ((among === null || among.has(key)) && isAsked(key, keys.length)) keys.push(detached(key));
    });
  }
  const problem = judge.problem();
  if (problem !== null) return decide(proven, { problem, expected });
  if (input.onlyCounts === true) return decide([], { count, expected });
  const found = [...keys, ...proven].sort();
  if (keys.length === 0 || !isEmptyList(stages, input.sinceRead)) return decide(found, { expected });
  if (!input.allowDeletes && keys.length > DELETE_LIMIT_ROWS) throw emptyListFailure(run, keys.length);
  return decide(found, { expected, listIsEmpty: true });
}

/** Which absent rows are of interest: all, or those of an audit's sample. @returns a function of a key and of how many there are */
function askedOf({ audit }: RunFile): (key: SortKey, found: number) => boolean {
  if (audit === undefined) return () => true;
  const { sample = 1, most = Number.POSITIVE_INFINITY } = audit;
  return (key, found) => found < most && isSampled(key, sample);
}

/**
 * Between which times the service's may be: each clock that counts for the watermark may be behind or ahead, and the base was read
 * before this run.
 */
function serviceTime(
  { startedAt, before, clocks: others, sync }: RunFile,
  stages: readonly Stage[],
): Parameters<typeof judgeAbsence>[2] {
  const { readStart: serviceStart, readBegan } = stages.at(-1)!;
  const { workflow, service } = before!.readUpTo;
  const now = [startedAt, readBegan ?? startedAt].flatMap((at) =>
    countedTimes({ startedAt: at, serviceStart, others }, sync.clock),
  );
  const base = countedTimes({ startedAt: workflow, serviceStart: service, others: undefined }, sync.clock);
  return { earliest: Math.min(...now), latest: Math.max(...now, ...base) };
}

/** Whether the readings of the list, without those of changes, returned no record at all. */
function isEmptyList(stages: readonly Stage[], sinceRead: FindAbsentInput['sinceRead']): boolean {
  let before = 0;
  for (const { kind, read, fetched, chunks } of stages) {
    const isListed = kind === 'list' && read >= sinceRead && chunks.length > 0;
    if (isListed && fetched > before) return false;
    before = fetched;
  }
  return true;
}

/** A list that becomes empty is more often a lost permission than the delete of everything. */
function emptyListFailure({ resource: { name }, before }: RunFile, rows: number): Error {
  return finalFailure(
    'DeletesHeld',
    `${name}: the list is empty, but run ${before!.runId} has ${rows} rows that it should show. Nothing was published. ` +
      'Check whether the API key may still read these records. If all of them have really been deleted, run ' +
      `\`worktrack export --resource ${name} --allow-deletes\`.`,
    { resource: name },
  );
}
