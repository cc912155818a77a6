import { type Claim, checkFence } from '../../src/lake/fence.js';
import { pointerKey } from '../../src/lake/layout.js';
import { type Manifest, readManifest } from '../../src/lake/manifest.js';
import { decodePointer, type Pointer } from '../../src/lake/pointer.js';
import type { Before } from '../../src/lake/run-file.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { finalFailure } from '../failures.js';

export interface FoundPointer {
  readonly pointer: Pointer;
  readonly etag: string;
}

/**
 * Reads the pointer and checks that this mirror may write (DESIGN 2, "One writer, fenced").
 *
 * @throws a final failure `Displaced` when it may not, `Lake` when what is there is no pointer
 */
export async function passFence(
  store: ObjectStore,
  claim: Claim,
): Promise<{ found: FoundPointer | null; outcome: 'ours' | 'adopted' | 'empty' }> {
  const found = await readPointer(store, claim.resource);
  const fence = checkFence(found?.pointer ?? null, claim);
  if ('message' in fence) throw finalFailure('Displaced', fence.message);
  return { found, outcome: fence.outcome };
}

async function readPointer(store: ObjectStore, resource: string): Promise<FoundPointer | null> {
  const found = await store.readIfExists(pointerKey(resource));
  if (found === null) return null;
  try {
    return { pointer: decodePointer(found.body), etag: found.etag };
  } catch (error) {
    throw finalFailure('Lake', `${store.url}/${pointerKey(resource)}: ${(error as Error).message}`);
  }
}

/** The snapshot that the pointer names. @throws a final failure `Lake` when it is gone */
export async function readSnapshot(store: ObjectStore, { snapshot }: Pointer): Promise<Manifest> {
  const manifest = await readManifest(store, snapshot);
  if (manifest !== null) return manifest;
  throw finalFailure(
    'Lake',
    `${store.url}/${snapshot}, the snapshot that latest.json names, is gone. Restore it, or go back to an ` +
      'earlier run with `worktrack rollback`.',
  );
}

export async function readBefore(store: ObjectStore, { pointer, etag }: FoundPointer): Promise<Before> {
  const manifest = await readSnapshot(store, pointer);
  return {
    runId: pointer.runId,
    etag,
    manifest: pointer.snapshot,
    checkpoint: pointer.checkpoint.updatedSince,
    startedAt: Date.parse(manifest.startedAt),
    rows: manifest.counts.rows,
    fingerprint: manifest.fingerprint,
    columns: manifest.columns,
    parts: manifest.parts,
    profile: { key: manifest.key, csv: manifest.csv, columns: manifest.selection },
  };
}
