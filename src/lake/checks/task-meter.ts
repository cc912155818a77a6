import type { ByteString, ObjectKey } from '../../core/brands.js';
import type { CheckScope, CsvSettings } from '../../core/settings.js';
import type { Figures } from '../documents/check-record.js';
import { nameOf } from '../documents/lake-layout.js';
import type { PublishedPart } from '../documents/manifest.js';
import { readPartRows } from '../part/part-rows.js';
import type { ObjectStore } from '../store/index.js';
import { type CheckPlan, knownFigures, type UniqueMeasure } from './check-plan.js';
import type { HashRun } from './hash-merge.js';
import { type RowForm, RowMeter } from './row-meter.js';

/** What one task of a merge measured, in addition to the figures of its parts. */
export interface TaskChecks {
  /** Figures of the rows that the run read; `null`: no check looks at them. */
  readonly run: Figures | null;
  readonly hashes: readonly TaskHashes[];
}

/** Sorted hashes of values in rows that the task added or removed, in an object of the staging folder. */
export interface TaskHashes extends HashRun {
  readonly id: string;
  readonly scope: CheckScope;
}

/** What a task needs in order to measure its parts. */
export interface Measuring {
  readonly plan: CheckPlan;
  readonly form: RowForm & { readonly csv: Pick<CsvSettings, 'compression'> };
  /** The unique fields whose values in the base snapshot are known, by the id of the measure. */
  readonly continued: ReadonlySet<string>;
  /** Key of a staged object. */
  readonly keyOf: (name: string) => ObjectKey;
  readonly signal: AbortSignal;
}

/** Follows the rows of one task, as the `RowObserver` of its merge. Its cost is that of the rows that change. */
export class TaskMeter {
  readonly snapshot: RowMeter;
  readonly run: RowMeter | null;

  constructor({ plan, form }: Measuring) {
    const uniques = (scope: CheckScope) => plan.uniques.filter((one) => one.scope === scope);
    this.snapshot = new RowMeter(plan.measures.snapshot, uniques('snapshot'), form);
    const { run } = plan.measures;
    this.run = run.length === 0 ? null : new RowMeter(run, uniques('run'), form);
  }

  changed(before: ByteString | null, after: ByteString | null): void {
    if (before !== null) this.snapshot.remove(before);
    if (after !== null) this.snapshot.add(after);
  }

  fetched(row: ByteString): void {
    this.run?.add(row);
  }
}

/**
 * Adds the figures to the parts that a merge task wrote. A part whose figures do not follow from those of its predecessor is
 * read once: a check is new, or the settings of its cells are, or the row with the newest time is gone.
 *
 * @param before the part of the base snapshot; `null`: the task had none
 */
export async function measureMerged(
  store: ObjectStore,
  measuring: Measuring,
  meter: TaskMeter,
  { before, parts }: { readonly before: PublishedPart | null; readonly parts: readonly PublishedPart[] },
): Promise<{ readonly parts: PublishedPart[]; readonly checks: TaskChecks }> {
  const known = before === null ? {} : knownFigures(measuring.plan.measures.snapshot, before.checks);
  const figures = known === null ? null : meter.snapshot.figures(known);
  const fresh = before === null ? new Set<string>() : newUniques(measuring);
  const hashes = [
    ...(await writeHashes(store, measuring, meter.snapshot, { label: 'changed', except: fresh })),
    ...(meter.run === null ? [] : await writeHashes(store, measuring, meter.run, { label: 'run' })),
  ];
  const run = meter.run?.figures(null) ?? null;
  const [only] = parts;
  const isRead = figures === null || parts.length > 1 || fresh.size > 0;
  if (!isRead) {
    return { parts: only === undefined ? [] : [{ ...only, checks: figures }], checks: { run, hashes } };
  }
  const measured: PublishedPart[] = [];
  for (const part of parts) {
    const read = await readPart(store, measuring, part);
    measured.push(read.part);
    hashes.push(...read.hashes);
  }
  return { parts: measured, checks: { run, hashes } };
}

/** The figures of a part that is carried over: its own, or those of its rows, read once if something is new. */
export async function measureCarried(
  store: ObjectStore,
  measuring: Measuring,
  part: PublishedPart,
): Promise<{ readonly part: PublishedPart; readonly checks: TaskChecks }> {
  const known = knownFigures(measuring.plan.measures.snapshot, part.checks);
  const run = measuring.plan.measures.run.length === 0 ? null : new TaskMeter(measuring).run!.figures(null);
  if (known !== null && newUniques(measuring).size === 0)
    return { part: { ...part, checks: known }, checks: { run, hashes: [] } };
  const { part: read, hashes } = await readPart(store, measuring, part);
  return { part: read, checks: { run, hashes } };
}

/** Unique fields whose values must be collected from all rows. */
function newUniques({ plan, continued }: Measuring): Set<string> {
  const ids = plan.uniques.filter(({ scope }) => scope === 'snapshot').map(({ id }) => id);
  return new Set(ids.filter((id) => !continued.has(id)));
}

async function readPart(
  store: ObjectStore,
  measuring: Measuring,
  part: PublishedPart,
): Promise<{ readonly part: PublishedPart; readonly hashes: TaskHashes[] }> {
  const { plan, form } = measuring;
  const fresh = newUniques(measuring);
  const uniques = plan.uniques.filter(({ id, scope }) => scope === 'snapshot' && fresh.has(id));
  const meter = new RowMeter(plan.measures.snapshot, uniques, form);
  await measureRows(store, part, meter, measuring);
  const label = nameOf(part.key).replace(/\..*$/, '');
  const hashes = await writeHashes(store, measuring, meter, { label });
  return { part: { ...part, checks: meter.figures(null)! }, hashes };
}

/** Reads the values of a unique field from a part. @returns no object if it has only nulls */
export async function readHashes(
  store: ObjectStore,
  part: PublishedPart,
  {
    unique,
    form,
    key,
    signal,
  }: Pick<Measuring, 'form' | 'signal'> & { readonly unique: UniqueMeasure; readonly key: ObjectKey },
): Promise<HashRun[]> {
  const meter = new RowMeter([], [unique], form);
  await measureRows(store, part, meter, { form, signal });
  const list = meter.hashes.get(unique.id)!.added;
  if (list.size === 0) return [];
  await store.write(key, list.sorted(), { signal });
  return [{ key, sign: 1 }];
}

async function measureRows(
  store: ObjectStore,
  part: PublishedPart,
  meter: RowMeter,
  { form, signal }: Pick<Measuring, 'form' | 'signal'>,
): Promise<void> {
  const { compression } = form.csv;
  for await (const rows of readPartRows(store, part, { compression, signal })) {
    signal.throwIfAborted();
    for (const row of rows) meter.add(row);
  }
}

async function writeHashes(
  store: ObjectStore,
  { plan, keyOf, signal }: Measuring,
  meter: RowMeter,
  { label, except }: { readonly label: string; readonly except?: ReadonlySet<string> },
): Promise<TaskHashes[]> {
  const written: TaskHashes[] = [];
  for (const { id, scope } of plan.uniques) {
    const lists = meter.hashes.get(id);
    if (lists === undefined || except?.has(id)) continue;
    const { added, removed } = lists;
    const both: [Buffer, 1 | -1][] = [
      [added.sortedWithout(removed), 1],
      [removed.sortedWithout(added), -1],
    ];
    for (const [body, sign] of both) {
      if (body.length === 0) continue;
      const key = keyOf(`${id}-${label}-${sign === 1 ? 'added' : 'removed'}`);
      await store.write(key, body, { signal });
      written.push({ id, scope, sign, key });
    }
  }
  return written;
}
