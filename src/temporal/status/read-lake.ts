import type { CheckSummary, DeleteDetection, MirrorStatus, Writer } from '../../core/contract/index.js';
import { errorMessage } from '../../core/errors.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { summaryOf } from '../../lake/documents/check-record.js';
import { LakeLayoutError } from '../../lake/documents/lake-layout.js';
import type { Manifest } from '../../lake/documents/manifest.js';
import { readManifest } from '../../lake/documents/manifest.js';
import { type Pointer, readPointer } from '../../lake/documents/pointer.js';
import { checkFence, descendsFromPublished, hasOtherOwner, otherOwnerText } from '../../lake/run/fence.js';
import { type ObjectStore, StoreError } from '../../lake/store/index.js';

/** What the lake says about a resource. */
export interface LakeRead {
  /** `null`: nothing is published by this connection. */
  readonly pointer: Pointer | null;
  /** Why the pointer does not belong to this mirror. */
  readonly foreign: string | null;
  /** The connection of another name or URL that owns the lake, and what to do. */
  readonly owner: string | null;
  /** Why the lake or the pointer cannot be read. */
  readonly problem: string | null;
}

/** Reads `latest.json` of a resource. A store that fails is a problem, too; the caller decides whether it is an error. */
export async function readOwnPointer(
  store: ObjectStore,
  { name: connection, baseUrl }: ConnectionSettings,
  resource: string,
): Promise<LakeRead & { readonly error: StoreError | null }> {
  try {
    const pointer = await readPointer(store, resource);
    const claim = { connection, baseUrl, resource };
    const foreign = await ownerProblem(store, pointer, claim, null);
    const owner = pointer !== null && hasOtherOwner(pointer, claim) ? otherOwnerText(pointer, claim) : null;
    return { pointer: foreign === null ? pointer : null, foreign, owner, problem: null, error: null };
  } catch (error) {
    const nothing = { pointer: null, foreign: null, owner: null };
    if (error instanceof StoreError) return { ...nothing, problem: error.message, error };
    const problem =
      error instanceof LakeLayoutError
        ? error.describe()
        : `${store.url}/${resource}/latest.json: ${errorMessage(error)}`;
    return { ...nothing, problem, error: null };
  }
}

/**
 * Why a mirror may not write the resource, from the same rule that its runs use; `null` if it may.
 *
 * @param mirror what the mirror says; `null` if it did not answer
 */
export async function ownerProblem(
  store: ObjectStore,
  pointer: Pointer | null,
  claim: { readonly connection: string; readonly baseUrl: string; readonly resource: string },
  mirror: Pick<MirrorStatus, 'writer' | 'published'> | null,
): Promise<string | null> {
  const publishedRunId = mirror?.published?.runId ?? null;
  const writer = mirror?.writer ?? pointer?.writer ?? NO_WRITER;
  const own = { ...claim, writer, publishedRunId, displaced: false, adopt: false };
  const descends = pointer !== null && (await descendsFromPublished(store, pointer, own));
  const fence = checkFence(pointer, own, descends);
  return 'message' in fence ? fence.message : null;
}

const NO_WRITER: Writer = { workflow: '', namespace: '' };

/** What the manifest of the published run says. */
export async function publishedFacts(
  store: ObjectStore,
  { snapshot }: Pointer,
): Promise<{
  readonly warnings: readonly string[];
  readonly deletes: DeleteDetection | null;
  readonly checks: CheckSummary | null;
}> {
  const manifest: Manifest | null = await readManifest(store, snapshot);
  if (manifest === null)
    return {
      warnings: [`${snapshot} is missing, although latest.json names it`],
      deletes: null,
      checks: null,
    };
  const checks = manifest.checks === undefined ? null : summaryOf(manifest.checks);
  return { warnings: manifest.warnings, deletes: manifest.deletes, checks };
}
