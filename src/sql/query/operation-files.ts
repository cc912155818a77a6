import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ObjectKey, RunId } from '../../core/brands.js';
import { inParallel } from '../../core/in-parallel.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { auditKeys } from '../../lake/documents/audit-statement.js';
import type { ManifestJson } from '../../lake/documents/document-schemas.js';
import { readPublishedIds } from '../../lake/published/chain.js';
import { readPublished, SnapshotNotFoundError } from '../../lake/published/read-published.js';
import { listRuns } from '../../lake/published/run-folders.js';
import type { ObjectStore } from '../../lake/store/index.js';
import {
  FILES_OF,
  listOf,
  type Operation,
  type OperationFiles,
  operationQuery,
  RECEIPT_TYPES,
  receiptKeys,
} from '../ddl/operations.js';

/** Requests at a time. */
const WIDTH = 16;

/** A view of operations, ready for a session. */
export interface OperationView {
  readonly name: Operation;
  readonly query: string;
}

/**
 * Fetches what views of operations read into the session's folder. What the lake does not have yet is a view without rows, and so is
 * a view that a statement only lists.
 *
 * @throws StoreError
 */
export async function fetchOperations(
  connection: ConnectionSettings,
  store: ObjectStore,
  of: {
    readonly session: string;
    readonly wanted: readonly Operation[];
    readonly read: ReadonlySet<string>;
  },
): Promise<OperationView[]> {
  const { session, wanted, read } = of;
  const files = new Map<OperationFiles, readonly string[]>();
  for (const name of wanted) {
    const kind = FILES_OF[name];
    if (!read.has(name) || files.has(kind)) continue;
    files.set(kind, await FETCH[kind](connection, store, join(session, kind)));
  }
  const views: OperationView[] = [];
  for (const name of wanted) {
    const kind = FILES_OF[name];
    const found = files.get(kind) ?? [];
    const empty = kind === 'receipts' ? NO_RECEIPTS : Buffer.alloc(0);
    const list = listOf(found.length > 0 ? found : [await local(session, `no-${kind}`, empty)]);
    views.push({ name, query: operationQuery(name, list, null) });
  }
  return views;
}

type Fetch = (connection: ConnectionSettings, store: ObjectStore, folder: string) => Promise<string[]>;

const FETCH: Readonly<Record<OperationFiles, Fetch>> = {
  async manifests({ resources }, store, folder) {
    const found = await inParallel(resources, 4, ({ name }) => manifestsOf(store, name));
    const lines = await inParallel(found.flat(), WIDTH, async (key) => {
      const { worktrack, resources } = JSON.parse((await store.read(key)).toString('utf8')) as ManifestJson;
      return JSON.stringify(shownOf(worktrack, resources));
    });
    return [await local(folder, 'manifests.json', lines)];
  },
  async receipts(_, store, folder) {
    const found = await inParallel(await receiptKeys(store), 2, async (key) => {
      const read = await store.readIfExists(key);
      return read === null ? [] : [await local(folder, key, read.body)];
    });
    return found.flat();
  },
  async audits(_, store, folder) {
    const bodies = await inParallel(await auditKeys(store), WIDTH, (key) => store.read(key));
    const lines = bodies.map((body) => JSON.stringify(JSON.parse(body.toString('utf8'))));
    return [await local(folder, 'audits.json', lines)];
  },
};

/** What the views show: a small part of each manifest; a lake can have tens of thousands. */
function shownOf(all: ManifestJson['worktrack'], resources: ManifestJson['resources']): object {
  const { connection, resource, runId, previousRunId, mode, updatedSince, checkpoint } = all;
  const { startedAt, publishedAt, pages, counts, rolledBack, warnings, checks } = all;
  const run = { connection, resource, runId, previousRunId, mode, updatedSince, checkpoint };
  const shown = { ...run, startedAt, publishedAt, pages, counts, rolledBack, warnings, checks };
  const fields = resources[0]?.schema.fields ?? [];
  return { worktrack: shown, resources: [{ schema: { fields } }] };
}

const NO_RECEIPTS = Buffer.from(`${Object.keys(RECEIPT_TYPES).join(',')}\n`);

/** The manifests of all published runs of a resource: of the snapshot, or of the change log if only that is left. */
async function manifestsOf(store: ObjectStore, resource: string): Promise<ObjectKey[]> {
  const current = await readPublished(store, resource).catch((error: unknown) => {
    if (error instanceof SnapshotNotFoundError) return null;
    throw error;
  });
  if (current === null) return [];
  const { runs } = await readPublishedIds(store, current.pointer);
  const logs = await listRuns(store, resource, 'changes');
  const snapshots = await listRuns(store, resource, 'snapshots');
  const manifests = new Map<RunId, ObjectKey>([...logs, ...snapshots]);
  return [...manifests].flatMap(([runId, key]) => (runs.has(runId) ? [key] : []));
}

/** @param body bytes, or lines without their ends */
async function local(folder: string, name: string, body: Buffer | readonly string[]): Promise<string> {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  // Line by line: a text of all of them may be longer than a string can be.
  const content = Buffer.isBuffer(body) ? body : body.map((line) => `${line}\n`);
  await writeFile(path, content, { mode: 0o600 });
  return path;
}
