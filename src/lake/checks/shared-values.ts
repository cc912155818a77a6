import { createHash } from 'node:crypto';
import type { UniqueState } from '../documents/check-record.js';
import type { PublishedPart } from '../documents/manifest.js';
import type { BaseSnapshot } from '../documents/run-file.js';
import type { CheckPlan, UniqueMeasure } from './check-plan.js';
import { RowMeter } from './row-meter.js';
import { measureRows, type PartReading, type RunValues } from './task-meter.js';
import { ValueCounts } from './value-hashes.js';

/** Different values in memory at the same time: about 80 MiB. */
const MOST_VALUES = 2_500_000;

interface ToCompare extends PartReading {
  readonly plan: CheckPlan;
  /** `null`: nothing is published. */
  readonly base: Pick<BaseSnapshot, 'parts' | 'uniques'> | null;
  /** All parts of the new snapshot. */
  readonly parts: readonly PublishedPart[];
  /** The values in the rows that the run read. */
  readonly ofRun: readonly RunValues[];
  /** Default: 2,500,000. */
  readonly mostValues?: number;
}

export interface SharedValues {
  /** Rows whose value another row has, too, by the id of the measure. */
  readonly shared: ReadonlyMap<string, number>;
  /** For the next run, which need not compare the values of the same parts again. */
  readonly states: Readonly<Record<string, UniqueState>>;
}

/**
 * Compares the values of unique fields in all rows. It reads the parts of the snapshot, unless they are those of the base snapshot:
 * once for each 2,500,000 values, so that its memory is bounded.
 */
export async function compareValues(input: ToCompare): Promise<SharedValues> {
  const { plan, base, parts } = input;
  const of = digestOf(parts);
  const ofSnapshot = plan.uniques.filter(({ scope }) => scope === 'snapshot');
  const known = ofSnapshot.filter(({ id }) => base?.uniques?.[id]?.of === of);
  const rows = parts.reduce((sum, part) => sum + part.rows, 0);
  const fresh = ofSnapshot.filter((unique) => !known.includes(unique));
  const shared = new Map<string, number>([
    ...known.map(({ id }): [string, number] => [id, base!.uniques![id]!.shared]),
    ...(await countShared(fresh, rows * fresh.length, input, (counts) => scan(fresh, counts, input))),
    ...(await countOfRun(input)),
  ]);
  const states = ofSnapshot.map(({ id }) => [id, { shared: shared.get(id)!, of }] as const);
  return { shared, states: Object.fromEntries(states) };
}

/** Identifies the parts of a snapshot, whatever their names are. */
function digestOf(parts: readonly Pick<PublishedPart, 'sha256' | 'rows'>[]): string {
  const hash = createHash('sha256');
  for (const { sha256, rows } of parts) if (rows > 0) hash.update(`${sha256}\n`);
  return hash.digest('hex').slice(0, 16);
}

type Counts = ReadonlyMap<string, ValueCounts>;

/** Counts in as many passes as the number of values needs. Each value belongs to one of them. */
async function countShared(
  uniques: readonly UniqueMeasure[],
  values: number,
  { mostValues = MOST_VALUES }: ToCompare,
  fill: (counts: Counts) => Promise<void>,
): Promise<Map<string, number>> {
  const shared = new Map<string, number>();
  const passes = Math.ceil(values / mostValues);
  for (let pass = 0; pass < passes; pass++) {
    const counts = new Map(uniques.map(({ id }) => [id, new ValueCounts({ pass, passes })]));
    await fill(counts);
    for (const [id, { shared: rows }] of counts) shared.set(id, (shared.get(id) ?? 0) + rows);
  }
  return new Map(uniques.map(({ id }) => [id, shared.get(id) ?? 0]));
}

async function scan(uniques: readonly UniqueMeasure[], counts: Counts, input: ToCompare): Promise<void> {
  const fields = uniques.map(({ id, field }) => ({ field, values: counts.get(id)! }));
  const meter = new RowMeter([], fields, input.form);
  for (const part of input.parts) await measureRows(part, meter, input);
}

async function countOfRun(input: ToCompare): Promise<Map<string, number>> {
  const { plan, ofRun, store, signal } = input;
  const uniques = plan.uniques.filter(({ scope }) => scope === 'run');
  const values = ofRun.reduce((sum, one) => sum + one.values, 0);
  return countShared(uniques, values, input, async (counts) => {
    for (const { id, key } of ofRun) await counts.get(id)!.addHashes(store.stream(key, { signal }));
  });
}
