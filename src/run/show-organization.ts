import { ApplicationFailure, Context } from '@temporalio/activity';
import {
  BrokenPromiseError,
  listName,
  NotFoundError,
  RefusedError,
  RejectedError,
  type ServiceClient,
} from '../api/index.js';
import { readListPage } from '../api/json/page.js';
import { type ByteString, type Cells, type Cursor, fromByteString, toByteString } from '../core/brands.js';
import { type ComparedRecord, neededRecords, showsSameOrganization } from '../core/same-organization.js';
import type { ResourceSettings } from '../core/settings.js';
import { folderOf } from '../lake/documents/lake-layout.js';
import { decodeManifest, type Manifest, type PublishedPart, rowsOf } from '../lake/documents/manifest.js';
import { readPointer } from '../lake/documents/pointer.js';
import type { BaseSnapshot, RunFile } from '../lake/documents/run-file.js';
import type { Stage } from '../lake/documents/stage-file.js';
import { framingOf, framingOfChunk } from '../lake/part/framing.js';
import { readPartRows } from '../lake/part/part-rows.js';
import { findRows, type IndexedRows } from '../lake/published/find-rows.js';
import { storedKey } from '../lake/published/purge-rules.js';
import { readRow } from '../lake/rows/csv.js';
import { type Column, ColumnSet, META_COLUMNS } from '../lake/rows/data-columns.js';
import { cellDecoder } from '../lake/rows/escaping.js';
import { keyIsId, maskedColumns, type Profile, type ReadyProfile } from '../lake/rows/profile.js';
import { rowKeys, type SortKey } from '../lake/rows/row.js';
import type { ObjectStore } from '../lake/store/index.js';
import type { OpenConnection } from './deps.js';
import { finalFailure } from './failures.js';
import { withKeySecret } from './masking-secret.js';

/** Pages that are read to show the organization of a key. */
const MAX_PAGES = 5;
/** Records of such a page at most. */
const MAX_PAGE_SIZE = 1000;

/** What the lake knows of a list. */
export interface KnownList {
  readonly name: string;
  readonly path: string;
  readonly params: ResourceSettings['params'];
  readonly key: readonly string[];
  readonly pageSize: number;
  /** Live rows. */
  readonly rows: number;
  /** Newest first. */
  readonly rowsOf: readonly KnownRows[];
}

/** Rows that were written with one profile. */
interface KnownRows extends Pick<IndexedRows, 'parts' | 'framing'> {
  readonly profile: ReadyProfile;
  /** Of the header, without those for metadata. */
  readonly columns: readonly string[];
  /** Columns that cannot be compared. */
  readonly masked: ReadonlySet<string>;
}

/**
 * Whether a key shows the organization that the lake knows: pages of a list, without `updatedSince`, are read with it, and
 * compared with what the lake knows (`showsSameOrganization`). A list that the key may not read, or that the service does not
 * have, shows nothing.
 *
 * @param client uses only this key
 * @throws TransientError; RefusedError for a rejected key
 */
export async function isSameOrganization(
  client: ServiceClient,
  store: ObjectStore,
  lists: readonly KnownList[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const list of lists) if (list.rows > 0 && (await showsIn(client, store, list, signal))) return true;
  return false;
}

async function showsIn(
  client: ServiceClient,
  store: ObjectStore,
  list: KnownList,
  signal: AbortSignal,
): Promise<boolean> {
  const needed = neededRecords(list.rows);
  const records: ComparedRecord[] = [];
  let cursor: Cursor | null = null;
  let limit = Math.min(list.pageSize, MAX_PAGE_SIZE);
  for (let pages = 0; pages < MAX_PAGES; ) {
    const page = await readPage(client, list, { limit, cursor, signal });
    if (page === 'refused') return false;
    if (page === 'rejected') {
      if (cursor !== null || limit === 1) return false;
      limit = Math.max(1, Math.floor(limit / 4));
      continue;
    }
    pages++;
    records.push(...(await compared(store, list, page.records, signal)));
    if (showsSameOrganization(records, needed)) return true;
    cursor = page.nextCursor;
    if (cursor === null) return false;
  }
  return false;
}

/** A record of a page: its cells by column. */
type Found = ReadonlyMap<string, string>;

async function readPage(
  client: ServiceClient,
  { name, path, params, key, rowsOf }: KnownList,
  at: { readonly limit: number; readonly cursor: Cursor | null; readonly signal: AbortSignal },
): Promise<{ records: Found[]; nextCursor: Cursor | null } | 'refused' | 'rejected'> {
  const { csv } = rowsOf[0]!.profile;
  const request = { resource: name, path, params, updatedSince: null, wasRead: true, ...at };
  try {
    const { value } = await client.listPage(request, (body) => {
      const columns = new ColumnSet(key, []);
      const flatten = csv.nested === 'flatten' ? toByteString(csv.separator) : null;
      const page = readListPage(body, { columns, flatten, nullData: 'empty' });
      return { ...page, names: columns.names };
    });
    const records = value.rows.map((cells) => byColumn(cells, value.names, () => true));
    return { records, nextCursor: value.nextCursor };
  } catch (error) {
    if (error instanceof RefusedError && error.scope === 'grant') return 'refused';
    if (error instanceof RejectedError) return 'rejected';
    if (error instanceof NotFoundError || error instanceof BrokenPromiseError) return 'refused';
    throw error;
  }
}

/** The records whose keys the lake knows, with its rows. */
async function compared(
  store: ObjectStore,
  { key, rowsOf }: KnownList,
  records: readonly Found[],
  signal: AbortSignal,
): Promise<ComparedRecord[]> {
  const pairs: ComparedRecord[] = [];
  let left = records.filter((record) => key.every((field) => record.has(field)));
  for (const { profile, columns, masked, parts, framing } of rowsOf) {
    const keyOf = (record: Found): SortKey =>
      storedKey(
        profile,
        key.map((field) => record.get(field)!),
      );
    const rows = await findRows(
      store,
      { parts, framing, keyColumns: key.length, delimiter: profile.csv.delimiter },
      left.map(keyOf),
      signal,
    );
    const isCompared = (name: string, at: number): boolean => at >= key.length && !masked.has(name);
    const decode = cellDecoder(profile.csv);
    for (const found of left) {
      const row = rows.get(keyOf(found));
      if (row === undefined) continue;
      const cells = readRow(row, profile.csv.delimiter).slice(META_COLUMNS.length);
      const values = cells.map((cell) =>
        cell === null || decode === null ? cell : decode(cell as ByteString),
      );
      pairs.push({ known: byColumn(values as Cells, columns, isCompared), found });
    }
    left = left.filter((record) => !rows.has(keyOf(record)));
  }
  return pairs;
}

/** Values that are there, by column. */
function byColumn(
  cells: Cells,
  names: readonly string[],
  isWantedAt: (name: string, at: number) => boolean,
): Map<string, string> {
  const values = new Map<string, string>();
  for (const [at, name] of names.entries()) {
    const cell = cells[at];
    if (cell !== null && cell !== undefined && cell !== '' && isWantedAt(name, at))
      values.set(name, fromByteString(cell));
  }
  return values;
}

/** What the lake knows of a resource from its snapshot. */
export async function knownSnapshot(
  { settings, store }: Pick<OpenConnection, 'settings' | 'store'>,
  resource: Pick<ResourceSettings, 'name' | 'path' | 'params'>,
  { profile, columns, parts, rows }: Pick<BaseSnapshot, 'profile' | 'columns' | 'parts' | 'rows'>,
): Promise<KnownList> {
  const known = await knownRows(settings, profile, columns);
  return {
    ...placeOf(resource),
    ...{ key: profile.key, pageSize: settings.sync.pageSize },
    // Tombstones count as rows, which matters if there are few.
    rows: rows < FEW_ROWS ? await liveRows(store, parts, profile.csv) : rows,
    rowsOf: [{ ...known, parts, framing: () => framingOf(profile.csv) }],
  };
}

/** What the lake knows of the list of a run: what the run has staged, and the base snapshot. */
export async function knownInRun(
  connection: Pick<OpenConnection, 'settings' | 'store'>,
  { resource, before }: Pick<RunFile, 'resource' | 'before'>,
  { chunks, columns }: Pick<Stage, 'chunks' | 'columns'>,
): Promise<KnownList> {
  const { settings } = connection;
  const known = await knownRows(settings, resource, columns);
  const staged = { ...known, parts: [...chunks].reverse(), framing: framingOfChunk };
  const isKnown =
    before !== null && before.list.path === listName(resource) && before.list.earlier === undefined;
  const snapshot = isKnown ? await knownSnapshot(connection, resource, before) : null;
  return {
    ...placeOf(resource),
    ...{ key: resource.key, pageSize: settings.sync.pageSize },
    rows: snapshot?.rows || rowsOf(chunks),
    rowsOf: [staged, ...(snapshot?.rowsOf ?? [])],
  };
}

function placeOf({ name, path, params }: Pick<ResourceSettings, 'name' | 'path' | 'params'>) {
  return { name, path, params };
}

async function knownRows(
  settings: OpenConnection['settings'],
  profile: Profile,
  columns: readonly Pick<Column, 'name'>[],
): Promise<Pick<KnownRows, 'profile' | 'columns' | 'masked'>> {
  const names = columns.map(({ name }) => name);
  const masked = new Set(maskedColumns(profile, names));
  return { profile: await withKeySecret(settings, profile), columns: names, masked };
}

/** A snapshot with fewer rows is read to count those that are live. */
const FEW_ROWS = 100;

async function liveRows(
  store: ObjectStore,
  parts: readonly PublishedPart[],
  csv: Profile['csv'],
): Promise<number> {
  let live = 0;
  for (const part of parts)
    for await (const rows of readPartRows(store, part, csv))
      live += rowKeys(rows.join(''), 1, csv.delimiter, 'live').length;
  return live;
}

/**
 * The projects of the lake: they show the organization of any other list, too. `keys`: those in their manifest.
 *
 * @returns `null` if the connection mirrors no projects that can be read by id, or has published none
 */
export async function knownProjects(
  connection: Pick<OpenConnection, 'settings' | 'store'>,
): Promise<{ readonly list: KnownList; readonly keys: readonly string[] | null } | null> {
  const resource = connection.settings.resources.find((one) => one.fetchById && keyIsId(one));
  const manifest = resource === undefined ? null : await currentManifest(connection.store, resource);
  if (resource === undefined || manifest === null) return null;
  return { list: await knownList(connection, resource, manifest), keys: manifest.organization?.keys ?? null };
}

function knownList(
  connection: Pick<OpenConnection, 'settings' | 'store'>,
  resource: Pick<ResourceSettings, 'name' | 'path' | 'params'>,
  { key, csv, selection, columns, parts, counts }: Manifest,
): Promise<KnownList> {
  const profile = { key, csv, columns: selection };
  return knownSnapshot(connection, resource, { profile, columns, parts, rows: counts.rows });
}

interface KeyOfLake {
  /** Uses only the key. */
  readonly client: ServiceClient;
  readonly fingerprint: string;
  /** Keys of the organization. The snapshot has to know one of them. `null`: the organization of any snapshot. */
  readonly of: readonly string[] | null;
  readonly signal: AbortSignal;
}

/**
 * The keys of an organization whose lists the lake has, with a key that is shown to be one of them: a snapshot knows its
 * fingerprint, or it reads the records of a mirrored list (`isSameOrganization`). The key is the last one.
 *
 * @returns `null`: no list shows it
 * @throws as `isSameOrganization`
 */
export async function keysOfLake(
  connection: Pick<OpenConnection, 'settings' | 'store'>,
  { client, fingerprint, of, signal }: KeyOfLake,
): Promise<readonly string[] | null> {
  const { settings, store } = connection;
  for (const resource of settings.resources) {
    const manifest = await currentManifest(store, resource);
    const known = manifest?.organization?.keys ?? [];
    const isOther = of !== null && !known.some((key) => of.includes(key));
    if (manifest === null || known.length === 0 || isOther) continue;
    const shows = async (): Promise<boolean> =>
      isSameOrganization(client, store, [await knownList(connection, resource, manifest)], signal);
    if (known.includes(fingerprint) || (await shows())) return newestLast(known, fingerprint);
  }
  return null;
}

/** Fingerprints of keys, with one of them as the newest. */
export function newestLast(keys: readonly string[], newest: string): readonly string[] {
  return [...keys.filter((key) => key !== newest), newest];
}

/** The manifest of a snapshot of this list; `null`: there is none, or it may have rows of an earlier list. */
export async function currentManifest(
  store: ObjectStore,
  resource: Pick<ResourceSettings, 'name' | 'path' | 'params'>,
): Promise<Manifest | null> {
  const pointer = await readPointer(store, resource.name);
  if (pointer === null) return null;
  const { snapshot } = pointer;
  const manifest = decodeManifest(await store.read(snapshot), folderOf(snapshot));
  return manifest.list.path === listName(resource) && manifest.list.earlier === undefined ? manifest : null;
}

interface KeyToShow extends Pick<RunFile, 'resource' | 'before'>, Pick<Stage, 'chunks' | 'columns'> {
  /** Uses only the key that is to be shown. */
  readonly client: ServiceClient;
}

/** The detail of the failure that tells it from other refusals. */
const NOT_SHOWN = 'organization-not-shown';

/**
 * Shows that a key belongs to the organization of a run: by the projects of the lake, or by the list of the run. Without any
 * rows, there is nothing to compare, and nothing that could be mixed.
 *
 * @throws a final failure `Refused` if it is not shown
 */
export async function showKey(
  connection: Pick<OpenConnection, 'settings' | 'store'>,
  { client, ...run }: KeyToShow,
  fingerprint: string,
): Promise<'same' | 'nothing-read'> {
  const { cancellationSignal: signal, log } = Context.current();
  const projects = await knownProjects(connection);
  const hasRead = run.chunks.length > 0 || run.before !== null;
  if (projects === null && !hasRead) return 'nothing-read';
  const own = await knownInRun(connection, run, run);
  const lists = projects === null || projects.list.name === own.name ? [own] : [projects.list, own];
  const isShown = await isSameOrganization(client, connection.store, lists, signal);
  if (!isShown) throw notShown(connection, run, lists.length > 1 || run.before !== null, fingerprint);
  log.info('the API key is new, and belongs to the same organization', { fingerprint });
  return 'same';
}

/** @param isPublished whether the lake has rows of the organization */
function notShown(
  { store }: Pick<OpenConnection, 'store'>,
  { resource: { name } }: Pick<RunFile, 'resource'>,
  isPublished: boolean,
  fingerprint: string,
): Error {
  const of = isPublished ? `the lake ${store.url}` : 'the pages that were read before';
  const remedy = isPublished
    ? 'Correct the API key. If the organization is the same, continue with `worktrack export --adopt-organization`, which reads ' +
      'everything.'
    : 'Check the API key, and export again: the next run reads everything with the key that it finds.';
  return finalFailure(
    'Refused',
    `${name}: the API key is new (fingerprint ${fingerprint}), and it is not shown that it belongs to the organization of ${of}: too ` +
      `few listed records are known and equal. Nothing was published. ${remedy}`,
    { scope: 'key', why: NOT_SHOWN },
  );
}

/** Whether a failure is that of `showKey`. */
export function isNotShown(error: unknown): boolean {
  if (!(error instanceof ApplicationFailure)) return false;
  return (error.details?.[0] as { readonly why?: string } | undefined)?.why === NOT_SHOWN;
}
