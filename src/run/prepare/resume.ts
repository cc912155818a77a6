import { ShownKeys } from '../../api/index.js';
import type { EpochMs, ObjectKey, RunId } from '../../core/brands.js';
import { DAY_MS } from '../../core/duration.js';
import type { Warning } from '../../core/warnings.js';
import type { Organization } from '../../lake/documents/document-schemas.js';
import { keysOf, type RunFile } from '../../lake/documents/run-file.js';
import type { Stage } from '../../lake/documents/stage-file.js';
import type { OpenConnection } from '../deps.js';
import type { StoredStage } from '../read/read-stage.js';
import { isNotShown, showKey } from '../show-organization.js';
import { STAGE, UnreadDocumentError } from '../staged-documents.js';
import { readJournal, readStages, Staging } from '../staging.js';

/** Older staged pages are not reused, because the list may have changed too much. */
const MAX_AGE_MS = DAY_MS;

/** The inputs that must be equal for a run to reuse the pages of another run. */
type ReadRequest = Pick<
  RunFile,
  'connection' | 'baseUrl' | 'resource' | 'mode' | 'updatedSince' | 'checkpoint' | 'before'
>;

/** Pages that a run takes over, with the keys of both runs. */
interface Resumable extends Pick<RunFile, 'resumed' | 'readSince' | 'clocks'> {
  readonly keys: readonly string[];
}

interface FoundPages {
  readonly pages: Resumable | null;
  readonly warning?: Warning;
}

/**
 * Finds the pages that a failed run staged, if that run read the same list with the same parameters and base snapshot,
 * less than a day ago, and in the same organization. The new run takes its checkpoint from the start of the failed run, so later
 * changes are not missed.
 *
 * @returns `warning`: why the pages are not used, although they could be
 */
export async function findResumable(
  connection: OpenConnection,
  request: ReadRequest & { readonly organization: Organization },
  failed: RunId,
  now: EpochMs,
): Promise<FoundPages | null> {
  try {
    return await readResumable(connection, request, failed, now);
  } catch (error) {
    // A build with another layout has staged them.
    if (!(error instanceof UnreadDocumentError)) throw error;
    return { pages: null, warning: { kind: 'not-continued', runId: failed, ...error.unread } };
  }
}

async function readResumable(
  connection: OpenConnection,
  request: ReadRequest & { readonly organization: Organization },
  failed: RunId,
  now: EpochMs,
): Promise<FoundPages | null> {
  const { store } = connection;
  const { resource } = request;
  const ref = { resource: resource.name, runId: failed };
  const run = (await readJournal(store, ref))?.run ?? null;
  if (run === null || now - run.readSince > MAX_AGE_MS) return null;
  if (fingerprintOf(run) !== fingerprintOf(request)) return null;
  const staging = new Staging(store, ref, 1);
  // Names sort by phase and attempt, and each stage continues the one before, so the last name is the newest stage.
  const key = (await staging.last('stage', 'run')) ?? run.resumed?.stage ?? null;
  const found = key === null ? null : await firstReading(staging, key);
  if (found === null) return null;
  const keys = keysOf(run, found.stage) ?? [];
  if (!(await isOfSameKeys(connection, request, staging, { found, keys })))
    return {
      pages: null,
      warning: { kind: 'pages-of-other-key', runId: failed },
    };
  const { readSince, clocks } = run;
  const { done, pages, fetched } = found.stage;
  const resumed = { runId: failed, stage: found.key, done, pages, rows: fetched };
  const all = [...new Set([...keys, ...request.organization.keys])];
  return { pages: { resumed, readSince, keys: all, ...(clocks === undefined ? {} : { clocks }) } };
}

/** Whether staged pages are of the organization of the key that the run begins with. */
async function isOfSameKeys(
  connection: OpenConnection,
  { organization, before, resource }: ReadRequest & { readonly organization: Organization },
  staging: Staging,
  { found, keys }: { readonly found: StoredStage; readonly keys: readonly string[] },
): Promise<boolean> {
  const fingerprint = organization.keys.at(-1)!;
  if (keys.includes(fingerprint)) return true;
  if (organization.basis === 'adopted') return false;
  // The keys of both runs were shown by the same snapshot.
  if (before !== null) return true;
  const chunks = (await readStages(staging, found.key)).flatMap((stage) => stage.chunks);
  const { columns } = found.stage;
  const shown = new ShownKeys(connection.client, [], (client) =>
    showKey(connection, { client, resource, before, chunks, columns }, fingerprint),
  );
  try {
    await shown.show(fingerprint);
    return true;
  } catch (error) {
    if (isNotShown(error)) return false;
    throw error;
  }
}

function fingerprintOf(run: ReadRequest): string {
  const { connection, baseUrl, resource, mode, updatedSince, checkpoint, before } = run;
  const snapshot = before === null ? null : [before.runId, before.etag];
  const service = [connection, baseUrl, resource];
  return JSON.stringify([...service, mode, updatedSince, checkpoint, snapshot]);
}

/** The last stage of the first reading. Later readings detect deletes, and a resumed run repeats them from the beginning. */
async function firstReading(staging: Staging, last: ObjectKey): Promise<StoredStage | null> {
  for (let key: ObjectKey | null = last; key !== null; ) {
    const stage: Stage = await staging.read(STAGE, key);
    if (stage.read === 0) return { key, stage };
    key = stage.previous;
  }
  return null;
}
