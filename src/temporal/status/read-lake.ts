import type { RunId } from '../../core/brands.js';
import type { CheckSummary, DeleteDetection, MirrorStatus } from '../../core/contract/index.js';
import { errorMessage } from '../../core/errors.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { warningText } from '../../core/warnings.js';
import { summaryOf } from '../../lake/documents/check-record.js';
import type { Organization } from '../../lake/documents/document-schemas.js';
import { LakeLayoutError } from '../../lake/documents/lake-layout.js';
import { type Manifest, readManifest } from '../../lake/documents/manifest.js';
import { type Pointer, readPointer } from '../../lake/documents/pointer.js';
import {
  checkFence,
  descendsFromPublished,
  hasOtherOwner,
  otherOwnerText,
} from '../../lake/published/ownership.js';
import { type ObjectStore, StoreError } from '../../lake/store/index.js';

/** What the lake says about a resource. */
interface LakeRead {
  /** `null`: nothing is published, or it cannot be read. */
  readonly pointer: Pointer | null;
  /** The connection of another name or URL that owns the lake, and what to do; `null`: it belongs to this one. */
  readonly owner: string | null;
  /** Why the lake or the pointer cannot be read. */
  readonly problem: string | null;
  /** The error of a store that fails. The caller decides whether it is one. */
  readonly error: StoreError | null;
}

/** Reads `latest.json` of a resource. */
export async function readLake(
  store: ObjectStore,
  { name: connection, baseUrl }: ConnectionSettings,
  resource: string,
): Promise<LakeRead> {
  try {
    const pointer = await readPointer(store, resource);
    const claim = { connection, baseUrl };
    const owner = pointer !== null && hasOtherOwner(pointer, claim) ? otherOwnerText(pointer, claim) : null;
    return { pointer, owner, problem: null, error: null };
  } catch (error) {
    const nothing = { pointer: null, owner: null, error: null };
    if (error instanceof StoreError) return { ...nothing, problem: error.message, error };
    if (error instanceof LakeLayoutError) return { ...nothing, problem: error.describe() };
    return { ...nothing, problem: `${store.url}/${resource}/latest.json: ${errorMessage(error)}` };
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
  { name: connection, baseUrl }: ConnectionSettings,
  resource: string,
  mirror: Pick<MirrorStatus, 'writer' | 'published'> | null,
): Promise<string | null> {
  const publishedRunId = mirror?.published?.runId ?? null;
  const writer = mirror?.writer ?? pointer?.writer ?? { workflow: '', namespace: '' };
  const own = { connection, baseUrl, resource, writer, publishedRunId, displaced: false, adopt: false };
  const descends = pointer !== null && (await descendsFromPublished(store, pointer, own));
  const fence = checkFence(pointer, own, descends);
  return 'message' in fence ? fence.message : null;
}

/** What the last published run of a resource says about it. */
export interface PublishedFacts extends Pick<Manifest, 'warnings'> {
  /** What is known about deletes of the resource; `null`: not known. */
  readonly deletes: DeleteDetection | null;
  /** The checks of the run; `null`: it had none, or they are not known. */
  readonly checks: CheckSummary | null;
  /** What the run found out about its API key; `null`: not known. */
  readonly organization: Organization | null;
  /** Rows that the last full read found changed, and that no increment had shown; `null`: not known. */
  readonly missedByIncrements: number | null;
  /** The published runs that the manifest lists, the newest first. */
  readonly runs: readonly RunId[];
}

/** What the manifest of the published run says. */
export async function publishedFacts(store: ObjectStore, pointer: Pointer | null): Promise<PublishedFacts> {
  const nothing = {
    ...{ warnings: [], deletes: null, checks: null },
    ...{ organization: null, missedByIncrements: null, runs: [] },
  };
  if (pointer === null) return nothing;
  const { snapshot } = pointer;
  const manifest = await readManifest(store, snapshot);
  if (manifest === null)
    return { ...nothing, warnings: [warningText({ kind: 'snapshot-missing', key: snapshot })] };
  const checks = manifest.checks === undefined ? null : summaryOf(manifest.checks);
  const { warnings, deletes, organization = null } = manifest;
  const missedByIncrements = manifest.fullRead?.missed ?? null;
  const runs = [pointer.runId, ...manifest.previousRuns.map(({ runId }) => runId)];
  return { warnings, deletes, checks, organization, missedByIncrements, runs };
}
