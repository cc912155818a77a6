import { randomBytes } from 'node:crypto';
import { Context } from '@temporalio/activity';
import type { ByteString, ObjectKey } from '../../core/brands.js';
import type { PhaseEnded, PhaseRef } from '../../core/contract/index.js';
import { allDone, inParallel } from '../../core/in-parallel.js';
import { shownName } from '../../core/text-budget.js';
import { toUtcSeconds } from '../../core/utc-time.js';
import { planChecks } from '../../lake/checks/check-plan.js';
import { TaskMeter } from '../../lake/checks/task-meter.js';
import { indexKey } from '../../lake/documents/block-index.js';
import {
  folderOf,
  inFolder,
  nameOf,
  partName,
  quarantineKey,
  type Tree,
} from '../../lake/documents/lake-layout.js';
import type { PublishedPart } from '../../lake/documents/manifest.js';
import {
  countsUnlisted,
  countsUnrestored,
  folderIn,
  mayHaveTombstones,
  type RunFile,
  returningFrom,
  type WritingRun,
} from '../../lake/documents/run-file.js';
import { copyIntactPart } from '../../lake/part/copy-part.js';
import { framingOf } from '../../lake/part/framing.js';
import { readIndexBody } from '../../lake/part/read-index.js';
import { PartSeries } from '../../lake/part/series.js';
import { readRow } from '../../lake/rows/csv.js';
import { headerRow, META_COLUMNS } from '../../lake/rows/data-columns.js';
import { versionRules } from '../../lake/rows/newer.js';
import { writeQuarantine } from '../../lake/rows/people-csv.js';
import { profileFingerprint } from '../../lake/rows/profile.js';
import type { SortKey } from '../../lake/rows/row.js';
import { syncedAtOfRun } from '../../lake/rows/synced-at.js';
import { uniqueKey } from '../../lake/rows/unique-key.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { isSampled } from '../audit-tally.js';
import { finalFailure } from '../failures.js';
import { inRange } from '../key-ranges.js';
import { withMaskingKey } from '../masking-secret.js';
import { BATCH, MergeCounts, mergedName, type TaskResult } from '../merge-result.js';
import { endedBy, type MergePlan, type MergeTask, toNextPhase } from '../run-journal.js';
import type { RunAt, Staging } from '../staging.js';
import { compareRows } from './compare-rows.js';
import { DifferingColumns } from './differing-columns.js';
import { type Restorable, restorable } from './earlier-settings.js';
import { mergeRows, type Tally } from './merge-rows.js';
import type { MergeSource } from './merge-source.js';
import { openSources } from './sources.js';

const COPIES_AT_ONCE = 16;

/** Executes one batch of the merge plan: merges key ranges, or copies unchanged parts of the base snapshot. */
export async function mergeParts(
  { deps, connection: { settings }, staging, progress }: RunAt,
  input: PhaseRef,
): Promise<PhaseEnded> {
  const { connection, resource } = input;
  const begun = performance.now();
  const journal = await staging.journal();
  const { run: fixed, gone, rereads } = journal;
  const plan = journal.plan!;
  const run = { ...fixed, resource: await withMaskingKey(settings, fixed.resource) };
  const { cancellationSignal: signal } = Context.current();
  const token = randomBytes(4).toString('hex');
  const batch = plan.batches[input.batch]!;
  const signs: Tally = { repeated: 0, found: 0 };
  const width = plan.tasks[batch[0]!]!.kind === 'carry' ? COPIES_AT_ONCE : 1;
  const tasks = await inParallel(batch, width, async (at): Promise<TaskResult> => {
    signal.throwIfAborted();
    const task = plan.tasks[at]!;
    const before = progress.mergedRows;
    const onRows = (rows: number): void => {
      progress.mergedRows = before + rows;
    };
    const common = { staging, run, plan, token, signal };
    if (task.kind === 'merge') {
      const of = { ...common, task, gone, signs, onRows };
      return { task: at, ...(await (run.audit === undefined ? mergeTask(of) : compareTask(of, rereads))) };
    }
    const carried = await carry(common, task);
    progress.mergedRows += task.part.rows;
    return { task: at, ...carried };
  });
  await staging.writeFirst(BATCH, mergedName(input.step, input.batch), { tasks, ...signs });
  const seconds = (performance.now() - begun) / 1000;
  deps.meter.record('mergeSeconds', seconds, { connection, resource });
  // Merges do not replace the journal, because they run side by side.
  return toNextPhase({ ...journal, ...endedBy(journal, {}) });
}

/** What the tasks of a batch have in common. */
interface MergeAt {
  readonly staging: Staging;
  readonly run: WritingRun;
  readonly plan: MergePlan;
  /** Makes the object names of this attempt unique. */
  readonly token: string;
  readonly signal: AbortSignal;
}

/** Copies a part and its index within the store, without downloading its rows. */
async function carry(
  at: MergeAt,
  task: Extract<MergeTask, { kind: 'carry' }>,
): Promise<Omit<TaskResult, 'task'>> {
  const { run } = at;
  const { number, part } = task;
  // The name keeps its token, so all attempts copy the part to the same object.
  const name = nameOf(part.key).replace(/^part-\d+/, `part-${String(number).padStart(5, '0')}`);
  const [{ checks: _, base: __, ...copied }, measured] = await allDone([
    copyWithIndex(at, part, inFolder(folderIn(run, 'snapshots'), name)),
    meterOf(at, task)?.measure(part, [part]),
  ]);
  const figures = measured?.parts[0]?.checks;
  return {
    // A rollback has read the rows in its target, which has an equal part.
    counts: {
      ...new MergeCounts(),
      ...(run.rollback === null ? { retained: part.rows } : { fetched: part.rows, unchanged: part.rows }),
      rows: part.rows,
    },
    parts: [{ ...copied, ...(figures === undefined ? {} : { checks: figures }) }],
    changes: [],
    ...(measured === undefined ? {} : { checks: measured.checks }),
  };
}

/**
 * Copies a part and its index within the store. The next merge relies on the index, so it is read and compared with the
 * manifest. If it is missing or damaged, the part is written once more, under a name of this attempt: its bytes may differ.
 */
async function copyWithIndex(
  { staging: { store }, run: { before }, token, signal }: MergeAt,
  part: PublishedPart,
  to: ObjectKey,
): Promise<PublishedPart> {
  const index = await readIndexBody(store, part, signal);
  if (typeof index === 'string') {
    const { profile, columns } = before!;
    const own = inFolder(folderOf(to), nameOf(to).replace(/^(part-\d+)-[0-9a-f]+/, `$1-${token}`));
    return copyIntactPart(store, part, { ...profile, columns }, { to: own, signal });
  }
  await allDone([
    store.copy(part.key, to, part.bytes),
    store.copy(indexKey(part.key), indexKey(to), index.length),
  ]);
  return { ...part, key: to };
}

interface TaskInput extends MergeAt {
  readonly task: Extract<MergeTask, { kind: 'merge' }>;
  /** Keys of records with a proven delete, of all tasks. */
  readonly gone: readonly SortKey[];
  /** The merge adds its counts to it. */
  readonly signs: Tally;
  /** Called with the rows of the task so far. */
  readonly onRows?: (rows: number) => void;
}

/** Merges one range of keys into parts of the new snapshot and of the change log. */
export async function mergeTask(input: TaskInput): Promise<Omit<TaskResult, 'task'>> {
  const { staging, run, plan } = input;
  const { store } = staging;
  const { resource } = run;
  const sources = await sourcesOf(input);
  const snapshot = series(input, 'snapshots');
  const changes = plan.hasBefore ? series(input, 'changes') : null;
  const meter = meterOf(input, input.task);
  const names = plan.columns.map(({ name }) => name);
  const aside = run.rollback === null ? new SetAside(input) : null;
  const differing = run.tables === null ? null : new DifferingColumns(names, resource.csv.delimiter);
  try {
    const counts = await mergeRows({
      sources,
      snapshot,
      changes,
      gone: new Set(input.gone.filter((key) => inRange(key, input.task.range))),
      deletes: resource.deletes,
      rollback: run.rollback === null ? null : { syncedAt: syncedAtOfRun(run) },
      runId: run.runId,
      deletedAt: toUtcSeconds(run.startedAt),
      ...versionRules(resource, names),
      tombstones: mayHaveTombstones(run) ? 'applied' : undefined,
      restorable: judgeOf(run, plan),
      countsUnlisted: countsUnlisted(run),
      observer: meter,
      differing,
      rolledBackAt: new Set(returningFrom(run)?.rollbacks.map(({ syncedAt }) => syncedAt)),
      signs: input.signs,
      onTwins: aside?.add,
      onProgress: ({ rows }) => {
        input.onRows?.(rows);
        input.signal.throwIfAborted();
      },
    });
    await aside?.finish();
    const parts = await snapshot.finish();
    const changed = changes === null ? await copyParts(store, run, parts) : await changes.finish();
    const measured = meter === null ? { parts } : await meter.measure(input.task.before, parts);
    const based = withBase(input, counts, measured.parts, changed, differing);
    return { counts, changes: changed, ...measured, parts: based };
  } catch (error) {
    await Promise.all([snapshot.abort(), changes?.abort()]);
    throw error;
  }
}

/**
 * Names what a part follows from, so that its table file can be written from an earlier one. The change log has every row that differs from
 * the part before, unless settings or columns gave rows another form, and the new part has each of them, unless rows were dropped.
 */
function withBase(
  { run, plan, task }: TaskInput,
  { dropped }: MergeCounts,
  parts: readonly PublishedPart[],
  changes: readonly PublishedPart[],
  differing: DifferingColumns | null,
): readonly PublishedPart[] {
  const isSameForm =
    run.before?.fingerprint === profileFingerprint(run.resource) &&
    run.before.columns.length === plan.columns.length;
  if (task.before === null || !isSameForm || dropped > 0) return parts;
  // With more parts, it is not known where a change is.
  if (parts.length !== 1 || changes.length !== 1) return parts;
  const columns = differing?.names ?? null;
  const base = { part: task.before.sha256, changes: changes[0]!.sha256 };
  return [{ ...parts[0]!, base: columns === null ? base : { ...base, columns } }];
}

function sourcesOf({ staging: { store }, run, plan, task, signal }: TaskInput): Promise<MergeSource[]> {
  return openSources({
    ...{ store, run, signal },
    written: { columns: plan.columns, profile: run.resource },
    ...{ range: task.range, before: task.before, chunks: task.chunks.map((at) => plan.chunks[at]!) },
    ...{ lastChain: plan.lastChain, increments: plan.increments },
  });
}

/** Compares one range of keys with the service. Only the rows that differ are written. @param pass number of this comparison, from 0 */
async function compareTask(input: TaskInput, pass: number): Promise<Omit<TaskResult, 'task'>> {
  const { run, plan, task } = input;
  const { resource, runId } = run;
  const { sample = 1, absent } = run.audit!;
  const differences = series(input, 'changes');
  try {
    const audit = await compareRows({
      ...{ sources: await sourcesOf(input), differences, signs: input.signs },
      ...versionRules(
        resource,
        plan.columns.map(({ name }) => name),
      ),
      gone: new Set(input.gone.filter((key) => inRange(key, task.range))),
      absence: absent === 'extra' && pass === 0 ? 'open' : absent,
      // The rows of a sample are looked for by id, and tombstones are not.
      tombstones: resource.windowMs === null && sample === 1 ? 'equal' : 'notComparable',
      knowsChanges: plan.increments !== undefined,
      isLookedAt: (key) => plan.isCut !== true && isSampled(key, sample),
      restorable: restorable(run.before!.shapes, resource, plan.columns),
      columns: plan.columns.length,
      run: { runId, deletedAt: toUtcSeconds(run.startedAt) },
      onProgress: (rows) => {
        input.onRows?.(rows);
        input.signal.throwIfAborted();
      },
    });
    return { counts: new MergeCounts(), parts: [], changes: await differences.finish(), audit };
  } catch (error) {
    await differences.abort();
    throw error;
  }
}

/** Keys whose records a run that stops at them looks at, and records that a task sets aside at most. */
const MOST_TWINS = { keys: 20, records: 10_000 };

/** The records of keys that are not unique. Their contents go to `_quarantine/` only, and the run stops, unless they are set aside. */
class SetAside {
  readonly #twins: (readonly ByteString[])[] = [];
  #records = 0;

  constructor(private readonly at: TaskInput) {}

  readonly add = (rows: readonly ByteString[]): void => {
    if (this.#records < MOST_TWINS.records) this.#twins.push(rows);
    this.#records += rows.length;
  };

  /** @throws a final failure with `badRecords: stop`, if there were any */
  async finish(): Promise<void> {
    if (this.#twins.length === 0) return;
    const { staging, run, plan, task, token } = this.at;
    const { name, badRecords, csv, key } = run.resource;
    const isStopped = badRecords === 'stop';
    const twins = isStopped ? this.#twins.slice(0, MOST_TWINS.keys) : this.#twins;
    const records = twins.map((rows) =>
      rows.map((row) => readRow(row.slice(0, -1), csv.delimiter).slice(META_COLUMNS.length)),
    );
    const file = quarantineKey(name, run.runId, `not-unique-${task.number}-${token}`);
    await writeQuarantine(staging.store, file, records.flat(), plan.columns, csv);
    if (!isStopped) return;
    const values = records.map((some) =>
      some.map((cells) => new Map(plan.columns.map((column, at) => [column.name, cells[at] ?? null]))),
    );
    const better = uniqueKey(key, values, plan.columns);
    const advice =
      better === null
        ? 'Name fields that identify a record in `key`.'
        : `As far as these records show, \`key: [${better.map(shownName).join(', ')}]\` is unique; \`fetchById\` has no effect then.`;
    throw finalFailure(
      'BrokenPromise',
      `${name}: the key (${key.join(', ')}) is not unique: different records have the same key, in one response or in each of two readings ` +
        `of the list. Nothing was published. ${advice} A lake that has rows already needs a new URL for another key. Examples are in ` +
        `${file}. To set such records aside instead, set \`badRecords: quarantine\`.`,
      { resource: name },
    );
  }
}

/** Rows are counted only in a run that looks at all of them, and not in a rollback, which leaves it to the full read after it. */
function judgeOf(run: RunFile, { columns }: MergePlan): Restorable | null {
  const { before, resource } = run;
  const judge = before === null ? null : restorable(before.shapes, resource, columns);
  return judge !== null && !countsUnrestored(run) ? { ...judge, isLost: () => false } : judge;
}

function series({ staging: { store }, run, plan, task, token, signal }: TaskInput, tree: Tree): PartSeries {
  const framing = framingOf(run.resource.csv);
  const folder = folderIn(run, tree);
  return new PartSeries(store, {
    framing,
    header: headerRow(plan.columns, run.resource.csv),
    columns: plan.columns.length,
    index: tree === 'snapshots' ? 'beside' : 'none',
    signal,
    partKey: (n) => inFolder(folder, partName(task.number + n, token, framing.extension)),
    maxParts: task.parts,
    partBytes: task.partBytes,
  });
}

/** Without a base snapshot every row is an insert, so the change log is a copy of the snapshot. */
async function copyParts(
  store: ObjectStore,
  run: RunFile,
  parts: readonly PublishedPart[],
): Promise<PublishedPart[]> {
  const folder = folderIn(run, 'changes');
  return inParallel(parts, 8, async (part) => {
    const key = inFolder(folder, nameOf(part.key));
    await store.copy(part.key, key, part.bytes);
    // A change log has no block index.
    const { indexCrc32: _, ...copy } = part;
    return { ...copy, key };
  });
}

/** Measures the rows of a task for the checks of the resource; `null` if it has none. */
function meterOf({ staging, run, plan, token, signal }: MergeAt, task: MergeTask): TaskMeter | null {
  const { resource } = run;
  const checks = planChecks(resource);
  if (checks === null) return null;
  return new TaskMeter({
    store: staging.store,
    plan: checks,
    form: { names: plan.columns.map(({ name }) => name), csv: resource.csv },
    keyOf: (name) => staging.key(staging.own('hashes', task.number, `-${token}-${name}.bin`)),
    signal,
  });
}
