import type { ByteString, ObjectKey } from '../../core/brands.js';
import type { CheckScope, CsvSettings } from '../../core/settings.js';
import type { Figures } from '../documents/check-record.js';
import { nameOf } from '../documents/lake-layout.js';
import type { PublishedPart } from '../documents/manifest.js';
import { readPartRows } from '../part/part-rows.js';
import type { ObjectStore } from '../store/index.js';
import { type CheckPlan, knownFigures, type UniqueMeasure } from './check-plan.js';
import type { HashRun } from './hash-merge.js';
import { type RowForm, RowMeter, type RowObserver } from './row-meter.js';

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
  readonly store: ObjectStore;
  readonly plan: CheckPlan;
  readonly form: RowForm & { readonly csv: Pick<CsvSettings, 'compression'> };
  /** The unique fields whose values in the base snapshot are known, by the id of the measure. */
  readonly continued: ReadonlySet<string>;
  /** Key of a staged object. */
  readonly keyOf: (name: string) => ObjectKey;
  readonly signal: AbortSignal;
}

type Reading = Pick<Measuring, 'store' | 'form' | 'signal'>;

/** Follows the rows of one task, as the `RowObserver` of its merge. Its cost is that of the rows that change. */
export class TaskMeter implements RowObserver {
  readonly #snapshot: RowMeter;
  readonly #run: RowMeter | null;

  constructor(private readonly measuring: Measuring) {
    const { plan, form } = measuring;
    const uniques = (scope: CheckScope) => plan.uniques.filter((one) => one.scope === scope);
    this.#snapshot = new RowMeter(plan.measures.snapshot, uniques('snapshot'), form);
    const { run } = plan.measures;
    this.#run = run.length === 0 ? null : new RowMeter(run, uniques('run'), form);
  }

  changed(before: ByteString | null, after: ByteString | null): void {
    if (before !== null) this.#snapshot.remove(before);
    if (after !== null) this.#snapshot.add(after);
  }

  fetched(row: ByteString): void {
    this.#run?.add(row);
  }

  /**
   * Adds the figures to the parts that the task wrote, or to the one that it carries over. A part whose figures do not follow
   * from those of its predecessor is read once: a check is new, or the settings of its cells are, or the row with the newest
   * time is gone.
   *
   * @param before the part of the base snapshot; `null`: the task had none
   */
  async measure(
    before: PublishedPart | null,
    parts: readonly PublishedPart[],
  ): Promise<{ readonly parts: PublishedPart[]; readonly checks: TaskChecks }> {
    const { plan, continued } = this.measuring;
    const { snapshot } = plan.measures;
    const known = before === null ? {} : knownFigures(snapshot, before.checks);
    const figures = known === null ? null : this.#snapshot.figures(known);
    // The values of these must be collected from all rows. Without a part before, the rows of the task are all rows.
    const isFresh = ({ id, scope }: UniqueMeasure): boolean =>
      before !== null && scope === 'snapshot' && !continued.has(id);
    const fresh = plan.uniques.filter(isFresh);
    const others = plan.uniques.filter((unique) => !isFresh(unique));
    const hashes = await this.#writeHashes(this.#snapshot, others, 'changed');
    if (this.#run !== null) hashes.push(...(await this.#writeHashes(this.#run, others, 'run')));
    const checks = { run: this.#run?.figures(null) ?? null, hashes };
    const [only, ...more] = parts;
    if (figures !== null && more.length === 0 && fresh.length === 0)
      return { parts: only === undefined ? [] : [{ ...only, checks: figures }], checks };
    const measured: PublishedPart[] = [];
    for (const part of parts) {
      const meter = new RowMeter(snapshot, fresh, this.measuring.form);
      await measureRows(part, meter, this.measuring);
      measured.push({ ...part, checks: meter.figures(null)! });
      const label = nameOf(part.key).split('.', 1)[0]!;
      hashes.push(...(await this.#writeHashes(meter, fresh, label)));
    }
    return { parts: measured, checks };
  }

  async #writeHashes(
    meter: RowMeter,
    uniques: readonly UniqueMeasure[],
    label: string,
  ): Promise<TaskHashes[]> {
    const { store, keyOf, signal } = this.measuring;
    const written: TaskHashes[] = [];
    for (const { id, scope } of uniques) {
      const lists = meter.hashes.get(id);
      if (lists === undefined) continue;
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
}

/** Reads the values of a unique field from a part. @param key where its hashes are written  @returns no object if it has only nulls */
export async function readHashes(
  part: PublishedPart,
  unique: UniqueMeasure,
  key: ObjectKey,
  at: Reading,
): Promise<HashRun[]> {
  const meter = new RowMeter([], [unique], at.form);
  await measureRows(part, meter, at);
  const list = meter.hashes.get(unique.id)!.added;
  if (list.size === 0) return [];
  await at.store.write(key, list.sorted(), { signal: at.signal });
  return [{ key, sign: 1 }];
}

async function measureRows(
  part: PublishedPart,
  meter: RowMeter,
  { store, form, signal }: Reading,
): Promise<void> {
  const { compression } = form.csv;
  for await (const rows of readPartRows(store, part, { compression, signal })) {
    signal.throwIfAborted();
    for (const row of rows) meter.add(row);
  }
}
