import type { ObjectKey, RunId, UtcSeconds } from '../core/brands.js';
import type { RunCounts, RunMode } from '../core/contract.js';
import type { ColumnSettings, CsvSettings } from '../core/settings.js';
import { DamagedError } from './damaged-error.js';
import { nameOf } from './layout.js';
import type { Profile } from './profile.js';
import type { SortKey } from './row.js';
import { type Column, META_COLUMNS, typeNames } from './schema.js';
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

/** What later runs need of a snapshot's manifest. */
export interface Manifest {
  readonly runId: RunId;
  readonly previousRunId: RunId | null;
  readonly mode: RunMode;
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

/** @param folder the key of the manifest's folder: parts are named relative to it */
export function decodeManifest(body: Buffer, folder: ObjectKey): Manifest {
  const { worktrack } = JSON.parse(body.toString('utf8')) as {
    worktrack: Omit<Manifest, 'parts'> & { layout: number } & {
      parts: (Omit<PublishedPart, 'key'> & { path: string })[];
    };
  };
  if (worktrack.layout !== LAYOUT_VERSION) {
    throw new DamagedError(
      `${folder} was written in layout ${worktrack.layout}, and this version reads layout ${LAYOUT_VERSION}; use the version that wrote it`,
    );
  }
  return {
    ...worktrack,
    parts: worktrack.parts.map(({ path, ...part }) => ({ ...part, key: `${folder}/${path}` as ObjectKey })),
  };
}
