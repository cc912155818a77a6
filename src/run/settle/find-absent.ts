import { Context } from '@temporalio/activity';
import type { PhaseEnded } from '../../core/contract/index.js';
import { deletesAllowed } from '../../core/list-evidence.js';
import type { RunFile } from '../../lake/documents/run-file.js';
import type { Stage } from '../../lake/documents/stage-file.js';
import { detached, type SortKey } from '../../lake/rows/row.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { isSampled } from '../audit-tally.js';
import { DELETE_LIMIT_ROWS } from '../delete-rules.js';
import { finalFailure } from '../failures.js';
import { openSources } from '../merge/sources.js';
import { countedTimes } from '../read/watermark.js';
import { type Decided, endedBy, type Journal, nextOf, toNextPhase } from '../run-journal.js';
import { type RunAt, readStages } from '../staging.js';
import { findAbsent, judgeAbsence } from './absent-rows.js';
import { type Absent, afterFirstPass, afterSecondPass, withoutLook } from './conclude-deletes.js';

/** Finds live rows of the base snapshot that no reading of the list has returned (docs/explanation/guarantees.md#deletes). */
export async function findAbsentRecords({ staging }: RunAt): Promise<PhaseEnded> {
  const journal = await staging.journal();
  const stages = await readStages(staging, journal.stage);
  const last = stages.at(-1)!;
  const decided = withoutLook(journal, last) ?? (await decideByLook(staging.store, journal, stages));
  return toNextPhase(await staging.decide(decided));
}

async function decideByLook(
  store: ObjectStore,
  journal: Journal,
  stages: readonly Stage[],
): Promise<Decided> {
  const { run } = journal;
  const last = stages.at(-1)!;
  const { pass } = nextOf(journal, 'settle');
  const found = await findRows(store, journal, stages);
  if (pass === 'emptied') return endedBy(journal, { emptied: found.count });
  // By-id proofs do not rely on the list.
  const mayBeEmpty = run.allowDeletes || (pass === 'first' && deletesAllowed(last.doubts) === 'by-id');
  if (found.listIsEmpty && !mayBeEmpty && found.keys.length > DELETE_LIMIT_ROWS)
    throw emptyListFailure(run, found.keys.length);
  return pass === 'second' ? afterSecondPass(journal, found) : afterFirstPass(journal, last, found);
}

async function findRows(store: ObjectStore, journal: Journal, stages: readonly Stage[]): Promise<Absent> {
  const { run, absent } = journal;
  const { since, pass } = nextOf(journal, 'settle');
  const among = pass === 'second' ? new Set(absent) : null;
  // An empty body concludes no deletes.
  const onlyCounts = pass === 'emptied' || (pass === 'first' && stages.at(-1)!.isBlank);
  const { before, resource, audit } = run;
  // An audit asks again for the records that only GET by id has shown.
  const counts = (stage: Stage): boolean => stage.read >= since && !(audit && stage.isById);
  const chunks = stages.filter(counts).flatMap((stage) => stage.chunks);
  const isAsked = askedOf(run);
  const keys: SortKey[] = [];
  const none = { keys, count: 0, problem: null, expected: 0, listIsEmpty: false };
  const parts = before?.parts.filter((part) => part.rows > 0) ?? [];
  if (before === null || parts.length === 0) return none;
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
      if (onlyCounts) count++;
      else if ((among === null || among.has(key)) && isAsked(key, keys.length)) keys.push(detached(key));
    });
  }
  const problem = judge.problem();
  if (problem !== null) return { ...none, keys: [], problem, expected };
  const listIsEmpty = keys.length > 0 && isEmptyList(stages, since);
  return { keys, count: onlyCounts ? count : keys.length, problem, expected, listIsEmpty };
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

/** Whether the readings of the list, without those of changes, returned no record at all. @param since the first that counts */
export function isEmptyList(stages: readonly Stage[], since: number): boolean {
  let before = 0;
  for (const { kind, read, fetched, chunks } of stages) {
    const isListed = kind === 'list' && read >= since && chunks.length > 0;
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
