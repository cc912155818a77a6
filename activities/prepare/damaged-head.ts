import { createHash } from 'node:crypto';
import { inParallel } from '../../src/core/in-parallel.js';
import { DamagedError } from '../../src/lake/damaged-error.js';
import { type PublishedPart, readManifest } from '../../src/lake/documents/manifest.js';
import type { FoundPointer, Pointer } from '../../src/lake/documents/pointer.js';
import type { BaseSnapshot } from '../../src/lake/documents/run-file.js';
import { type ObjectStore, StoreError } from '../../src/lake/store/index.js';
import { baseSnapshot, readBaseSnapshot } from '../shared/base-snapshot.js';

const READ_AT_ONCE = 4;

/** The head as far as its parts are intact. */
interface Intact {
  readonly before: BaseSnapshot;
  /** What was left out, for people. */
  readonly warnings: readonly string[];
}

/**
 * Reads the head, and leaves out what is missing or damaged: a rollback is the way out of damaged data, so it cannot depend on
 * it. All parts are read, because a merge finds damage only on its way.
 */
export async function readIntactHead(
  store: ObjectStore,
  found: FoundPointer,
  signal: AbortSignal,
): Promise<Intact> {
  const { snapshot, changes, manifests } = found.pointer;
  const manifest = await orNull(() => readManifest(store, snapshot, manifests?.snapshot));
  if (manifest === null) {
    const log = changes === null ? null : await readManifest(store, changes);
    // Without its fields, it is not known which columns and settings the next snapshot continues.
    if (log === null) return { before: await readBaseSnapshot(store, found), warnings: [] };
    const before = baseSnapshot(found, log);
    return { before: withParts(before, []), warnings: [leftOut(found.pointer, 'the snapshot')] };
  }
  const before = baseSnapshot(found, manifest);
  const isIntact = await inParallel(before.parts, READ_AT_ONCE, (part) => matches(store, part, signal));
  const parts = before.parts.filter((_, at) => isIntact[at]);
  const damaged = before.parts.length - parts.length;
  if (damaged === 0) return { before, warnings: [] };
  const what = `${damaged} of ${before.parts.length} parts of the snapshot`;
  return { before: withParts(before, parts), warnings: [leftOut(found.pointer, what)] };
}

function withParts(before: BaseSnapshot, parts: readonly PublishedPart[]): BaseSnapshot {
  return { ...before, parts, rows: parts.reduce((sum, { rows }) => sum + rows, 0) };
}

async function matches(
  store: ObjectStore,
  { key, bytes, sha256 }: PublishedPart,
  signal: AbortSignal,
): Promise<boolean> {
  const hash = createHash('sha256');
  const read = await orNull(async () => {
    let read = 0;
    for await (const chunk of store.stream(key, { signal })) {
      hash.update(chunk);
      read += chunk.length;
    }
    return read;
  });
  return read === bytes && hash.digest('hex') === sha256;
}

/** `null` for what is missing or damaged. */
async function orNull<T>(reading: () => Promise<T>): Promise<T | null> {
  try {
    return await reading();
  } catch (error) {
    const isDamage =
      error instanceof DamagedError ||
      (error instanceof StoreError && (error.kind === 'not-found' || error.kind === 'damaged'));
    if (!isDamage) throw error;
    return null;
  }
}

function leftOut({ resource, runId }: Pointer, what: string): string {
  return (
    `rollback: ${what} of run ${runId} could not be read and was left out; records that were added there are missing until a ` +
    `run lists them, and ${resource}_newest still shows them`
  );
}
