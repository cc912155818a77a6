import { Context } from '@temporalio/activity';
import { type ServiceClient, ServiceError, ShownKeys, TransientError } from '../../api/index.js';
import { readListPage } from '../../api/json/page.js';
import { fromByteString } from '../../core/brands.js';
import type { RunInput } from '../../core/contract/index.js';
import type { ConnectionSettings, ResourceSettings } from '../../core/settings.js';
import type { Warning } from '../../core/warnings.js';
import type { Organization } from '../../lake/documents/document-schemas.js';
import type { Manifest, PublishedPart } from '../../lake/documents/manifest.js';
import type { BaseSnapshot } from '../../lake/documents/run-file.js';
import { framingOf } from '../../lake/part/framing.js';
import { readPartRows } from '../../lake/part/part-rows.js';
import { readPartIndex } from '../../lake/part/read-index.js';
import { BlockReader } from '../../lake/part/reader.js';
import { ColumnSet } from '../../lake/rows/data-columns.js';
import { idOf, keyIsId } from '../../lake/rows/profile.js';
import { rowKeys, type SortKey } from '../../lake/rows/row.js';
import type { ObjectStore } from '../../lake/store/index.js';
import type { OpenConnection } from '../deps.js';
import { finalFailure } from '../failures.js';
import type { PassedFence } from '../pass-fence.js';
import { askById, isWebPage, seemsRefused } from '../settle/ask-by-id.js';
import { currentManifest, knownProjects, newestLast, showKey } from '../show-organization.js';

/** Known projects that are requested until one is found. */
const MAX_REQUESTS = 10;
/** A smaller number of unknown projects proves nothing: all of them may have been deleted. */
const MIN_UNKNOWN = 5;
/** After this many transient failures, no further record is requested. */
const MAX_FAILURES = 3;
/** Attempts at a check that gets no answer. */
const MAX_ATTEMPTS = 3;

/** The service did not answer in time. Another request of this attempt would wait as long, so it is left to the next attempt. */
function isTimeout(error: unknown): error is TransientError {
  return error instanceof TransientError && error.reason === 'timeout';
}

/**
 * Detects an API key of another organization before anything is merged (docs/explanation/guarantees.md#organization-check).
 * The key decides which organization's data the service returns, and no response names the organization. So several
 * projects of the lake are requested by id. If the service knows none of them, they belong to another organization. Any
 * other answer proves nothing, because the API does not define the status of a deleted or forbidden record.
 *
 * @returns warnings for the run
 */
export async function checkOrganization(
  connection: OpenConnection,
  { movedFrom, renamedFrom }: Pick<PassedFence, 'movedFrom' | 'renamedFrom'>,
): Promise<Warning[]> {
  const { settings, client } = connection;
  const { info, cancellationSignal: signal } = Context.current();
  const projects = settings.resources.find((resource) => resource.fetchById && keyIsId(resource));
  if (projects === undefined) return [];
  const known = await knownIds(connection, projects);
  if (known.length < MIN_UNKNOWN) return [];
  const failures: TransientError[] = [];
  let unknown = 0;
  let unclear = 0;
  const mayRetry = (error: unknown): boolean => !isTimeout(error);
  // A record that the service is slow to find must not be the first one of every attempt.
  const first = (info.attempt - 1) % known.length;
  for (const id of [...known.slice(first), ...known.slice(0, first)]) {
    try {
      const request = { resource: projects.name, path: projects.path, id, signal, mayRetry };
      const answer = await askById(client, request);
      if (answer === 'found') return [];
      if (answer === 'gone') unknown++;
      else unclear++;
    } catch (error) {
      if (!(error instanceof TransientError)) throw error;
      if (isTimeout(error) && info.attempt < MAX_ATTEMPTS) throw error;
      // A service without this endpoint may answer with its start page. The list shows whether that is an outage.
      if (isWebPage(error)) return [];
      if (seemsRefused(error)) unclear++;
      failures.push(error);
      const isSilent = isTimeout(error) && unknown + unclear === 0;
      if (isSilent || failures.length === MAX_FAILURES) break;
    }
  }
  if (unknown >= MIN_UNKNOWN) {
    const was = renamedFrom === null ? null : `belongs to connection "${renamedFrom}"`;
    const former = movedFrom === null ? was : `was at ${movedFrom}`;
    if (former === null && (await knowsNoListedRecord(client, projects, signal)))
      return [{ kind: 'organization-no-endpoint', resource: projects.name }];
    throw belongsToAnother(connection, projects.name, unknown, former);
  }
  const [failure] = failures;
  if (failure === undefined || unknown + unclear > 0) return [];
  if (info.attempt < MAX_ATTEMPTS) throw failure;
  return [{ kind: 'organization-no-answer', resource: projects.name, requests: failures.length }];
}

/**
 * Whether the service does not find by id what its list shows at this moment: then it has no such endpoint, and the answers for
 * known records say nothing either. An empty list, or no answer, leaves the suspicion as it is.
 */
async function knowsNoListedRecord(
  client: ServiceClient,
  { name, path, params, key }: ResourceSettings,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const columns = new ColumnSet(key, []);
    const request = { resource: name, path, params, limit: 1, cursor: null, updatedSince: null, signal };
    const { value } = await client.listPage(request, (body) =>
      readListPage(body, { columns, flatten: null }),
    );
    const id = value.rows[0]?.[0];
    if (id === undefined || id === null || id === '') return false;
    return (await askById(client, { resource: name, path, id: fromByteString(id), signal })) === 'gone';
  } catch (error) {
    if (error instanceof ServiceError) return false;
    throw error;
  }
}

/** @param former how the lake knows the service, if that may be another one */
function belongsToAnother(
  { settings: { baseUrl }, store }: OpenConnection,
  projects: string,
  unknown: number,
  former: string | null,
): Error {
  const what = `knows none of ${unknown} ${projects} of the lake ${store.url}`;
  const message =
    former === null
      ? `the API key seems to belong to another organization: the service ${what}. Nothing was changed. Correct the API key. ` +
        `If those ${projects} have really been deleted, continue with \`worktrack export --adopt\`.`
      : `the service at ${baseUrl} ${what}. Either it is not the service that ${former}, or the API key belongs to another ` +
        'organization. Nothing was changed. Correct baseUrl or the API key, or give the connection a new lake URL.';
  return finalFailure('Refused', message, { scope: 'key' });
}

/** A resource, and where its list is. */
type Place = Pick<ResourceSettings, 'name' | 'path' | 'params'>;

/** How long the runs of a connection share the ids, in ms. All resources of an export run within this time. */
const SHARED_MS = 60_000;

/** Ids in use, by resource. Each run has a store and a connection that only it uses, and all share the settings. */
const shared = new WeakMap<ConnectionSettings, Map<string, Promise<string[]>>>();

/** Ids of live rows. The runs of a connection share them for a minute, because reading them takes five requests. */
async function knownIds(
  { settings, store }: OpenConnection,
  { name, path, params }: Place,
): Promise<string[]> {
  const ofConnection = shared.get(settings) ?? new Map<string, Promise<string[]>>();
  shared.set(settings, ofConnection);
  const id = JSON.stringify([name, path, params]);
  const known = ofConnection.get(id);
  if (known !== undefined) return known;
  const reading = readKnownIds(store, { name, path, params });
  ofConnection.set(id, reading);
  const forget = (): void => void ofConnection.delete(id);
  setTimeout(forget, SHARED_MS).unref();
  try {
    const ids = await reading;
    // More may be published in the next moment.
    if (ids.length < MIN_UNKNOWN) forget();
    return ids;
  } catch (error) {
    forget();
    throw error;
  }
}

/** Reads ids of live rows from the first and the last block of the published snapshot. Records of another list say nothing. */
async function readKnownIds(store: ObjectStore, place: Place): Promise<string[]> {
  const manifest = await currentManifest(store, place);
  if (manifest === null) return [];
  const parts = manifest.parts.filter((part) => part.rows > 0);
  if (parts.length === 0) return [];
  const keys = new Set([
    ...(await keysOfBlock(store, manifest, parts[0]!, 'first')),
    ...(await keysOfBlock(store, manifest, parts.at(-1)!, 'last')),
  ]);
  const all = [...keys];
  const step = Math.max(1, Math.floor(all.length / MAX_REQUESTS));
  return all
    .filter((_, at) => at % step === 0)
    .slice(0, MAX_REQUESTS)
    .map((key) => idOf(key, manifest.csv));
}

async function keysOfBlock(
  store: ObjectStore,
  { csv }: Manifest,
  part: PublishedPart,
  which: 'first' | 'last',
): Promise<SortKey[]> {
  const index = await readPartIndex(store, part);
  if (index === null) return someKeys(store, csv, part);
  const { blocks } = index;
  const reader = new BlockReader(store, { key: part.key, blocks, framing: framingOf(csv) });
  const text = await reader.rows(which === 'first' ? 0 : blocks.length - 1);
  return rowKeys(text, 1, csv.delimiter, 'live');
}

/** Keys of the first live rows of a part whose block index is missing or damaged. */
async function someKeys(store: ObjectStore, csv: Manifest['csv'], part: PublishedPart): Promise<SortKey[]> {
  for await (const rows of readPartRows(store, part, csv)) {
    const keys = rowKeys(rows.join(''), 1, csv.delimiter, 'live');
    if (keys.length > 0) return keys;
  }
  return [];
}

/** What a run has found out about its API key before it reads. */
interface CheckedKey extends Organization {
  /** Whether the key was shown, or adopted, now. The check by known projects then adds nothing. */
  readonly isNew: boolean;
}

/**
 * Checks that the API key belongs to the organization of the lake (docs/explanation/guarantees.md#organization-check). A key with
 * a fingerprint that the snapshot has is the same, or was shown before. A resource without a snapshot is compared with the
 * projects of the lake.
 *
 * @throws a final failure `Refused` if the organization of another key is not shown, and it is not adopted
 */
export async function checkKey(
  connection: OpenConnection,
  resource: ResourceSettings,
  before: BaseSnapshot | null,
  { adoptOrganization }: Pick<RunInput, 'adoptOrganization'>,
): Promise<CheckedKey> {
  const fingerprint = await connection.client.keyFingerprint();
  const first = { keys: [fingerprint], basis: 'first', isNew: false } as const;
  const own = before?.organization?.keys ?? null;
  if (own?.includes(fingerprint) === true)
    return { keys: newestLast(own, fingerprint), basis: 'same-key', isNew: false };
  if (before !== null && own === null) return first;
  const projects = await knownProjects(connection);
  const known = own ?? projects?.keys ?? null;
  if (known === null) return first;
  if (known.includes(fingerprint))
    return { keys: newestLast(known, fingerprint), basis: 'same-key', isNew: false };
  if (adoptOrganization === true) return { keys: [fingerprint], basis: 'adopted', isNew: true };
  const keys = new ShownKeys(connection.client, known, (client) =>
    showKey(connection, { client, resource, before, chunks: [], columns: [] }, fingerprint),
  );
  await keys.show(fingerprint);
  return { keys: keys.keys, basis: 'records', isNew: true };
}
