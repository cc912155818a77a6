import { createHash } from 'node:crypto';
import type { ObjectKey } from '../../core/brands.js';
import type { UniqueState } from '../documents/check-record.js';
import { folderOf, inFolder } from '../documents/lake-layout.js';
import type { PublishedPart } from '../documents/manifest.js';
import type { BaseSnapshot } from '../documents/run-file.js';
import { nullIfNotFound, type ObjectStore } from '../store/index.js';
import type { CheckPlan, UniqueMeasure } from './check-plan.js';
import { type HashRun, type MergedHashes, mergeHashes } from './hash-merge.js';
import type { TaskHashes } from './task-meter.js';

/** What a base snapshot knows about unique fields. */
type Base = Pick<BaseSnapshot, 'manifest' | 'parts' | 'uniques'>;

type States = Readonly<Record<string, UniqueState>>;

/** The hashes of the base snapshot that still belong to its parts, by the id of the measure. */
export function continuedUniques({ uniques }: CheckPlan, base: Base | null): States {
  if (base === null) return {};
  const digest = digestOf(base.parts);
  const known = uniques.flatMap(({ id, scope }) => {
    const state = base.uniques?.[id];
    return scope === 'snapshot' && state?.of === digest ? [[id, state] as const] : [];
  });
  return Object.fromEntries(known);
}

/** Identifies the parts of a snapshot, whatever their names are. */
function digestOf(parts: readonly Pick<PublishedPart, 'sha256' | 'rows'>[]): string {
  const hash = createHash('sha256');
  for (const { sha256, rows } of parts) if (rows > 0) hash.update(`${sha256}\n`);
  return hash.digest('hex').slice(0, 16);
}

/** Begins the names of the objects with hashes. Query engines skip them, as all names that begin with `_`. */
const PREFIX = '_unique-';

/** Whether an object in a snapshot's folder holds hashes. */
export function isHashesName(name: string): boolean {
  return name.startsWith(PREFIX);
}

interface MergeUniques {
  readonly plan: CheckPlan;
  /** `null`: nothing is published. */
  readonly base: Base | null;
  /** What the tasks of the merge added and removed. */
  readonly hashes: readonly TaskHashes[];
  readonly parts: readonly PublishedPart[];
  /** Reads the values of a field from all parts of the new snapshot. */
  readonly recount: (unique: UniqueMeasure) => Promise<readonly HashRun[]>;
  readonly stagedKey: (name: string) => ObjectKey;
  readonly folder: ObjectKey;
  /** Makes the names of this attempt unique. */
  readonly token: string;
  readonly signal: AbortSignal;
}

export interface MergedUniques {
  /** Rows whose value another row has, too, by the id of the measure. */
  readonly shared: ReadonlyMap<string, number>;
  readonly states: States;
  /** The objects in the new snapshot's folder. */
  readonly objects: readonly ObjectKey[];
}

/**
 * Compares the values of unique fields in all rows. It reads the hashes of the base snapshot, 8 bytes for each row, and writes
 * those of the new one, or copies them if no value changed.
 */
export async function mergeUniques(store: ObjectStore, input: MergeUniques): Promise<MergedUniques> {
  const { plan, base, folder, token, signal } = input;
  const continued = continuedUniques(plan, base);
  const shared = new Map<string, number>();
  const states: Record<string, UniqueState> = {};
  const objects: ObjectKey[] = [];
  const of = digestOf(input.parts);
  for (const unique of plan.uniques) {
    const { id } = unique;
    const runs: HashRun[] = input.hashes.filter((one) => one.id === id);
    const before = continued[id];
    const name = `${PREFIX}${id}-${token}.bin`;
    const key = inFolder(folder, name);
    const from =
      before?.path == null || base === null ? null : inFolder(folderOf(base.manifest), before.path);
    const isSame = before !== undefined && from !== null && runs.length === 0;
    const wasCopied = isSame && (await store.copy(from, key, before.bytes).then(() => true, nullIfNotFound));
    if (wasCopied) {
      objects.push(key);
      states[id] = { ...before, path: name, of };
      shared.set(id, before.shared);
      continue;
    }
    const all: HashRun[] =
      before === undefined || from === null ? runs : [{ key: from, sign: 1, crc32: before.crc32 }, ...runs];
    const isKept = unique.scope === 'snapshot';
    const write = async (some: readonly HashRun[]) =>
      writeMerged(store, await fewer(store, some, unique, input), isKept ? key : null, signal);
    // The hashes of the base snapshot may be gone or damaged. They are made of its rows, so these are read instead.
    const merged = (await write(all)) ?? (isKept ? await write(await input.recount(unique)) : null);
    if (merged === null) throw new Error('the values of the new snapshot could not be compared');
    shared.set(id, merged.shared);
    if (!isKept) continue;
    if (merged.values > 0) objects.push(key);
    const { bytes, crc32, values } = merged;
    states[id] = { path: values > 0 ? name : null, bytes, crc32, values, shared: merged.shared, of };
  }
  return { shared, states, objects };
}

/** Objects that are read at the same time: each needs a connection to the store until its end. */
const MOST_AT_ONCE = 16;

/** Merges lists of equal sign into longer ones in the staging folder, until few enough are left to be read together. */
async function fewer(
  store: ObjectStore,
  runs: readonly HashRun[],
  unique: UniqueMeasure,
  { stagedKey, token, signal }: MergeUniques,
): Promise<readonly HashRun[]> {
  let left = runs;
  for (let number = 0; left.length > MOST_AT_ONCE; number++) {
    const sign: HashRun['sign'] = left.filter((one) => one.sign === 1).length > MOST_AT_ONCE / 2 ? 1 : -1;
    const some = left.filter((one) => one.sign === sign).slice(0, MOST_AT_ONCE);
    const key = stagedKey(`hashes-merged-${token}-${unique.id}-${number}.bin`);
    const positive = some.map((one) => ({ ...one, sign: 1 as const }));
    const merged = await writeMerged(store, positive, key, signal);
    // The last merge finds the damaged one again, and then reads the rows.
    if (merged === null) return some;
    const longer: HashRun[] = merged.values === 0 ? [] : [{ key, sign, crc32: merged.crc32 }];
    left = [...left.filter((one) => !some.includes(one)), ...longer];
  }
  return left;
}

interface Written extends MergedHashes {
  readonly bytes: number;
  readonly crc32: string;
}

/** @returns `null` if the objects do not belong together, or one of them is gone */
async function writeMerged(
  store: ObjectStore,
  runs: readonly HashRun[],
  key: ObjectKey | null,
  signal: AbortSignal,
): Promise<Written | null> {
  const writer = key === null ? null : store.openWriter(key, { signal });
  try {
    const merged = await mergeHashes(store, runs, async (sorted) => writer?.write(sorted), signal);
    if (merged !== null && merged.values > 0 && writer !== null) {
      const { bytes, crc32 } = await writer.finish();
      return { ...merged, bytes, crc32 };
    }
    await writer?.abort();
    return merged && { ...merged, bytes: 0, crc32: '00000000' };
  } catch (error) {
    await writer?.abort();
    return nullIfNotFound(error);
  }
}
