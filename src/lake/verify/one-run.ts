import type { ObjectKey, RunId } from '../../core/brands.js';
import { inParallel } from '../../core/in-parallel.js';
import type { CheckSettings } from '../../core/settings.js';
import { planChecks } from '../checks/check-plan.js';
import type { PublishedPart } from '../documents/manifest.js';
import { headerRow, META_COLUMNS } from '../rows/data-columns.js';
import type { ObjectStore } from '../store/index.js';
import { type CheckedManifest, checkManifest, type Decoded } from './document-checks.js';
import { type PartRules, type ReadPart, verifyPart } from './part.js';
import type { Problem } from './problem-list.js';
import { readBody } from './read-body.js';

export interface TreeOptions {
  readonly index: PartRules['index'];
  readonly signal?: AbortSignal | undefined;
  readonly partsAtOnce: number;
  /** Called after each part with its size in bytes. */
  readonly onPart?: ((bytes: number) => void) | undefined;
  /** As in `VerifyOptions`. */
  readonly checks?: readonly CheckSettings[] | undefined;
}

export interface ReadTree {
  readonly rows: number;
  readonly bytes: number;
  readonly problems: readonly Problem[];
  /** Objects that were damaged in transit and are intact in the store. */
  readonly notes: readonly string[];
}

/** Reads all parts of a manifest, twice if a part has problems. Keys must be in ascending order across parts, which makes them unique. */
async function verifyTree(
  store: ObjectStore,
  { columns, csv, key, parts, selection }: CheckedManifest,
  { index, signal, partsAtOnce, onPart, checks = [] }: TreeOptions,
): Promise<ReadTree> {
  const rules: PartRules = {
    header: headerRow(columns, csv),
    columns: columns.length,
    cells: META_COLUMNS.length + columns.length,
    keyColumns: key.length,
    delimiter: csv.delimiter,
    compression: csv.compression,
    index,
    signal,
    measures: planChecks({ checks, key, csv, columns: selection })?.measures.snapshot ?? [],
    form: { names: columns.map(({ name }) => name), csv },
  };
  const notes: string[] = [];
  const read = await inParallel(parts, partsAtOnce, async (part) => {
    signal?.throwIfAborted();
    const found = await readTwice(store, part, rules, notes);
    onPart?.(found.bytes);
    return found;
  });

  const problems: Problem[] = [];
  let last: ReadPart['last'] = null;
  for (const [at, part] of read.entries()) {
    problems.push(...part.problems);
    if (last !== null && part.first !== null && part.first <= last) {
      const { key } = parts[at]!;
      problems.push({
        key,
        text: `${key}: its first key is not greater than the last key of the previous part`,
      });
    }
    last = part.last ?? last;
  }
  return {
    rows: read.reduce((sum, part) => sum + part.rows, 0),
    bytes: read.reduce((sum, part) => sum + part.bytes, 0),
    problems,
    notes,
  };
}

/** Reads a part again if it has problems: damage in the store persists, damage in transit does not. */
async function readTwice(
  store: ObjectStore,
  part: PublishedPart,
  rules: PartRules,
  notes: string[],
): Promise<ReadPart> {
  const first = await verifyPart(store, part, rules);
  if (first.problems.length === 0) return first;
  const second = await verifyPart(store, part, rules);
  if (second.problems.length === 0) notes.push(inTransit(part.key));
  else if (second.sha256 !== first.sha256) notes.push(`${part.key}: two reads returned different bytes`);
  return second;
}

/** Note for an object that was damaged in the first read and intact in the second. */
function inTransit(key: ObjectKey): string {
  return `${key} was damaged in transit; a second read was intact. Check the network and the memory of this machine.`;
}

/** A manifest of a run with its expected values. */
export interface NamedManifest {
  readonly key: ObjectKey;
  readonly resource: string;
  readonly tree: 'snapshot' | 'changes';
  readonly runId: RunId;
  /** Key of the object that names the manifest. */
  readonly namedBy: ObjectKey;
  /** The SHA-256 in `latest.json`, if it has one. */
  readonly sha256?: string | null | undefined;
}

/** The result of reading a document. */
interface ReadDocument<T> {
  /** `null` if it cannot be read. */
  readonly value: T | null;
  readonly problems: readonly Problem[];
  readonly notes: readonly string[];
}

/** Reads and checks a document, twice if it has problems. Returns `null` if it does not exist. */
export async function readDocument<T>(
  store: ObjectStore,
  key: ObjectKey,
  check: (body: Buffer) => Decoded<T>,
): Promise<ReadDocument<T> | null> {
  const read = async (): Promise<ReadDocument<T> | null> => {
    const found = await readBody(store, key);
    if (found === null) return null;
    const checked = check(found.body);
    const texts = [...(found.damaged === null ? [] : [found.damaged]), ...checked.problems];
    const value = 'value' in checked ? checked.value : null;
    return { value, problems: texts.map((text) => ({ key, text })), notes: [] };
  };
  const first = await read();
  if (first === null || first.problems.length === 0) return first;
  const second = await read();
  return second?.problems.length === 0 ? { ...second, notes: [inTransit(key)] } : second;
}

export async function readNamedManifest(
  store: ObjectStore,
  named: NamedManifest,
): Promise<ReadDocument<CheckedManifest>> {
  const { key, namedBy } = named;
  const read = await readDocument(store, key, (body) => checkManifest(body, key, named));
  if (read !== null) return read;
  const problems = [{ key, text: `${key} is missing, and ${namedBy} names it` }];
  return { value: null, problems, notes: [] };
}

const NOTHING: ReadTree = { rows: 0, bytes: 0, problems: [], notes: [] };

/** Reads every part that a manifest lists. */
export async function readParts(
  store: ObjectStore,
  manifest: CheckedManifest | null,
  options: TreeOptions,
): Promise<ReadTree> {
  return manifest === null ? NOTHING : verifyTree(store, manifest, options);
}
