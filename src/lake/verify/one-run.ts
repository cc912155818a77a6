import type { ObjectKey, RunId } from '../../core/brands.js';
import type { ObjectStore } from '../store/index.js';
import { type CheckedManifest, checkManifest, type Decoded } from './document-checks.js';
import type { Problem } from './problem-list.js';
import { readBody } from './read-body.js';
import { inTransit, type ReadTree, type TreeOptions, verifyTree } from './tree.js';

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
