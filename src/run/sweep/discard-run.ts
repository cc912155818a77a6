import { Context } from '@temporalio/activity';
import type { ObjectKey } from '../../core/brands.js';
import type { DiscardRunInput } from '../../core/contract/index.js';
import { inFolder, MANIFEST, stagingFolder } from '../../lake/documents/lake-layout.js';
import { readIntact } from '../../lake/documents/manifest.js';
import { type FoundPointer, type Pointer, readPointerVersion } from '../../lake/documents/pointer.js';
import { folderIn } from '../../lake/documents/run-file.js';
import { descendsFrom, wasPublished } from '../../lake/published/chain.js';
import type { ObjectStore } from '../../lake/store/index.js';
import type { ActivityDeps } from '../deps.js';
import { removeAll, removeFolder } from '../remove-folders.js';
import { UnreadDocumentError } from '../staged-documents.js';
import { readJournal } from '../staging.js';

/**
 * Removes what a failed run wrote. Does nothing if the run was published after all: then `latest.json` names it or a later run
 * in its chain, for example of a mirror that adopted the lake. Nor does it if the run may have been published: see `mayBePublished`.
 */
export async function discardRun(deps: ActivityDeps, input: DiscardRunInput): Promise<void> {
  const { store } = deps.connection(input.connection);
  const { resource, runId, nominalStart, staging } = input;
  const signal = Context.current().cancellationSignal;
  const found = await readPointerVersion(store, resource);
  const pointer = found?.pointer ?? null;
  if (pointer !== null && (await wasPublished(store, pointer, runId))) return;
  if (await maySwap(store, input, found)) return;
  const folders = (['snapshots', 'changes'] as const).map((tree) =>
    folderIn({ nominalStart, resource: { name: resource }, runId }, tree),
  );
  if (await mayBePublished(store, folders, pointer)) return;
  for (const folder of folders) {
    await store.abortUploads(`${folder}/`);
    await removeFolder(store, folder, signal);
  }
  if (staging === 'kept') return;
  const staged = `${stagingFolder(resource, runId)}/` as const;
  await store.abortUploads(staged);
  await removeAll(store, staged, signal);
}

/** Whether the swap of a failed run may still arrive: the run has sent it, and it expects the version that is there. */
async function maySwap(
  store: ObjectStore,
  ref: DiscardRunInput,
  found: FoundPointer | null,
): Promise<boolean> {
  // The mirror discards no other run that has sent its swap.
  const journal = await readJournal(store, ref).catch(orUnread);
  return journal?.isSwapSent === true && (journal.run.before?.etag ?? null) === (found?.etag ?? null);
}

function orUnread(error: unknown): null {
  if (error instanceof UnreadDocumentError) return null;
  throw error;
}

/**
 * Whether a complete run that is not on the pointer's chain may have been published. Only a pointer that descends from the run
 * before it shows that its swap was lost; otherwise `latest.json` itself was lost or restored.
 */
async function mayBePublished(
  store: ObjectStore,
  folders: readonly ObjectKey[],
  pointer: Pointer | null,
): Promise<boolean> {
  for (const folder of folders) {
    const manifest = await readIntact(store, inFolder(folder, MANIFEST));
    if (manifest === null) continue;
    const { previousRunId } = manifest;
    if (pointer === null) return true;
    return previousRunId !== null && !(await descendsFrom(store, pointer, previousRunId));
  }
  return false;
}
