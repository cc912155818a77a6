import type { ObjectKey, RunId, UtcSeconds } from '../core/brands.js';
import type { RunCounts, RunMode } from '../core/contract.js';
import type { ColumnSettings, CsvSettings } from '../core/settings.js';
import { DamagedError } from './damaged-error.js';
import { folderOf, inFolder, MANIFEST, nameOf } from './layout.js';
import type { Profile } from './profile.js';
import type { SortKey } from './row.js';
import { type Column, META_COLUMNS, typeNames } from './schema.js';
import type { ObjectStore } from './store/index.js';
import type { Gap } from './watermark.js';

/** A part of a published tree. */
export interface PublishedPart {
  readonly key: ObjectKey;
  readonly bytes: number;
  readonly rawBytes: number;
  readonly rows: number;
  readonly crc32: string;
  readonly sha256: string;
  readonly first: SortKey | null;
  readonly last: SortKey | null;
}

export interface ManifestInput {
  readonly connection: string;
  readonly baseUrl: string;
  readonly resource: string;
  readonly tree: 'snapshot' | 'changes';
  readonly runId: RunId;
  readonly previousRunId: RunId | null;
  readonly mode: RunMode;
  readonly updatedSince: UtcSeconds | null;
  readonly checkpoint: UtcSeconds;
  readonly startedAt: number;
  readonly publishedAt: number;
  readonly pages: number;
  readonly counts: RunCounts;
  readonly columns: readonly Column[];
  readonly profile: Profile;
  readonly fingerprint: string;
  readonly parts: readonly PublishedPart[];
  readonly gap: Gap | null;
  readonly warnings: readonly string[];
}

/** Version of the layout, in every manifest. */
const LAYOUT_VERSION = 1;

/** `_datapackage.json`: a Frictionless tabular data package with what is ours under `worktrack` (DESIGN 6). */
export function encodeManifest(input: ManifestInput): Buffer {
  const { columns, parts } = input;
  const { csv } = input.profile;
  const gzip = csv.compression === 'gzip';
  const schema = {
    fields: [
      ...META_COLUMNS.map((name) => ({ name, type: 'string' })),
      ...columns.map((column) => ({ name: column.name, type: 'string', jsonTypes: typeNames(column.types) })),
    ],
    missingValues: [''],
  };
  const dialect = {
    delimiter: csv.delimiter,
    quoteChar: '"',
    doubleQuote: true,
    lineTerminator: '\n',
    header: true,
    skipInitialSpace: false,
  };
  const manifest = {
    profile: 'tabular-data-package',
    name: `${input.resource}-${input.tree}-${input.runId.toLowerCase()}`,
    resources: parts.map((part) => ({
      profile: 'tabular-data-resource',
      name: nameOf(part.key).replace(/\.csv(\.gz)?$/, ''),
      path: nameOf(part.key),
      format: 'csv',
      mediatype: 'text/csv',
      ...(gzip ? { compression: 'gz' } : {}),
      encoding: 'utf-8',
      bytes: part.bytes,
      hash: `sha256:${part.sha256}`,
      rowCount: part.rows,
      dialect,
      schema,
    })),
    worktrack: {
      layout: LAYOUT_VERSION,
      connection: input.connection,
      baseUrl: input.baseUrl,
      resource: input.resource,
      tree: input.tree,
      runId: input.runId,
      previousRunId: input.previousRunId,
      mode: input.mode,
      key: input.profile.key,
      updatedSince: input.updatedSince,
      checkpoint: { updatedSince: input.checkpoint },
      startedAt: new Date(input.startedAt).toISOString(),
      publishedAt: new Date(input.publishedAt).toISOString(),
      pages: input.pages,
      counts: input.counts,
      gap: input.gap,
      warnings: input.warnings,
      csv,
      selection: input.profile.columns,
      fingerprint: input.fingerprint,
      columns,
      parts: parts.map(({ key, ...part }) => ({ path: nameOf(key), ...part })),
    },
  };
  return Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`);
}

/** What a manifest says that the connector reads again. */
export interface Manifest {
  readonly runId: RunId;
  readonly previousRunId: RunId | null;
  readonly mode: RunMode;
  /** What the lists were asked for; `null` for everything. */
  readonly updatedSince: UtcSeconds | null;
  readonly checkpoint: { readonly updatedSince: UtcSeconds };
  /** ISO 8601. */
  readonly publishedAt: string;
  readonly fingerprint: string;
  readonly columns: readonly Column[];
  readonly key: readonly string[];
  readonly csv: CsvSettings;
  /** Columns that were left out or masked. */
  readonly selection: ColumnSettings;
  readonly counts: RunCounts;
  readonly pages: number;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly parts: readonly PublishedPart[];
  readonly warnings: readonly string[];
  readonly gap: Gap | null;
  /** Records that were removed after the run, oldest first; their keys are not kept. */
  readonly purged?: readonly Purge[];
}

/** A purge as a manifest remembers it. */
export interface Purge {
  readonly runId: RunId;
  /** Removed from this tree. */
  readonly rows: number;
}

/** @returns `null` when there is none. @throws DamagedError when it cannot be read; StoreError when the store cannot */
export async function readManifest(store: ObjectStore, key: ObjectKey): Promise<Manifest | null> {
  const found = await store.readIfExists(key);
  return found === null ? null : decodeManifest(found.body, folderOf(key));
}

/**
 * @param folder the key of the manifest's folder: parts are named relative to it
 * @throws DamagedError
 */
export function decodeManifest(body: Buffer, folder: ObjectKey): Manifest {
  const { layout, parts, ...rest } = decoded(body, folder);
  if (layout !== LAYOUT_VERSION) {
    throw new DamagedError(
      `${folder} was written in layout ${layout}, and this version reads layout ${LAYOUT_VERSION}; use the version that wrote it`,
    );
  }
  return {
    ...rest,
    parts: parts.map(({ path, ...part }) => ({ ...part, key: `${folder}/${path}` as ObjectKey })),
  };
}

interface Encoded extends Omit<Manifest, 'parts'> {
  readonly layout: number;
  readonly parts: readonly (Omit<PublishedPart, 'key'> & { readonly path: string })[];
}

function decoded(body: Buffer, folder: ObjectKey): Encoded {
  try {
    const { worktrack } = JSON.parse(body.toString('utf8')) as { worktrack?: Encoded };
    if (typeof worktrack?.layout === 'number') return worktrack;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new DamagedError(`${inFolder(folder, MANIFEST)} cannot be read: ${why}`, { cause });
  }
  throw new DamagedError(
    `${inFolder(folder, MANIFEST)} cannot be read: it is not the manifest that a run of this connector writes`,
  );
}
