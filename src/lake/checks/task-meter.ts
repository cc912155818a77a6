import type { ByteString, ObjectKey } from '../../core/brands.js';
import type { CsvSettings } from '../../core/settings.js';
import type { Figures } from '../documents/check-record.js';
import type { PublishedPart } from '../documents/manifest.js';
import { readPartRows } from '../part/part-rows.js';
import type { ObjectStore } from '../store/index.js';
import { type CheckPlan, knownFigures } from './check-plan.js';
import { type RowForm, RowMeter, type RowObserver } from './row-meter.js';
import { HashList } from './value-hashes.js';

/** What one task of a merge measured, in addition to the figures of its parts. */
export interface TaskChecks {
  /** Figures of the rows that the run read; `null`: no check looks at them. */
  readonly run: Figures | null;
  /** Values of unique fields in these rows. */
  readonly values: readonly RunValues[];
}

/** Hashes of the values that rows of a run have in a unique field, in an object of the staging folder. */
export interface RunValues {
  readonly id: string;
  readonly key: ObjectKey;
  readonly values: number;
}

/** How the rows of parts are read. */
export interface PartReading {
  readonly store: ObjectStore;
  readonly form: RowForm & { readonly csv: Pick<CsvSettings, 'compression'> };
  readonly signal: AbortSignal;
}

/** What a task needs in order to measure its parts. */
export interface Measuring extends PartReading {
  readonly plan: CheckPlan;
  /** Key of a staged object. */
  readonly keyOf: (name: string) => ObjectKey;
}

/** Follows the rows of one task, as the `RowObserver` of its merge. Its cost is that of the rows that change. */
export class TaskMeter implements RowObserver {
  readonly #snapshot: RowMeter;
  readonly #run: RowMeter | null;
  /** Of the rows that the run read, by the id of the measure. */
  readonly #values = new Map<string, HashList>();

  constructor(private readonly measuring: Measuring) {
    const { plan, form } = measuring;
    this.#snapshot = new RowMeter(plan.measures.snapshot, [], form);
    const { run } = plan.measures;
    const fields = plan.uniques
      .filter(({ scope }) => scope === 'run')
      .map(({ id, field }) => {
        const values = new HashList();
        this.#values.set(id, values);
        return { field, values };
      });
    this.#run = run.length === 0 ? null : new RowMeter(run, fields, form);
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
    const { snapshot } = this.measuring.plan.measures;
    const known = before === null ? {} : knownFigures(snapshot, before.checks);
    const figures = known === null ? null : this.#snapshot.figures(known);
    const checks = { run: this.#run?.figures(null) ?? null, values: await this.#writeValues() };
    const [only, ...more] = parts;
    if (figures !== null && more.length === 0)
      return { parts: only === undefined ? [] : [{ ...only, checks: figures }], checks };
    const measured: PublishedPart[] = [];
    for (const part of parts) {
      const meter = new RowMeter(snapshot, [], this.measuring.form);
      await measureRows(part, meter, this.measuring);
      measured.push({ ...part, checks: meter.figures(null)! });
    }
    return { parts: measured, checks };
  }

  async #writeValues(): Promise<RunValues[]> {
    const { store, keyOf, signal } = this.measuring;
    const written: RunValues[] = [];
    for (const [id, list] of this.#values) {
      if (list.size === 0) continue;
      const key = keyOf(id);
      await store.write(key, list.bytes(), { signal });
      written.push({ id, key, values: list.size });
    }
    return written;
  }
}

/** Measures all rows of a part. */
export async function measureRows(
  part: PublishedPart,
  meter: RowMeter,
  { store, form, signal }: PartReading,
): Promise<void> {
  const { compression } = form.csv;
  for await (const rows of readPartRows(store, part, { compression, signal })) {
    signal.throwIfAborted();
    for (const row of rows) meter.add(row);
  }
}
