import type { ObjectKey, RunId, UtcSeconds } from '../../core/brands.js';
import type { DeleteDetection, PublishedMode, RunCounts, Writer } from '../../core/contract/index.js';
import { errorMessage } from '../../core/errors.js';
import type { ColumnSettings, CsvSettings } from '../../core/settings.js';
import { parseStored } from '../../core/stored-json.js';
import type { Figures } from '../checks/plan.js';
import type { CheckRecord, CheckResult, MeasuredRows, UniqueState } from '../checks/result.js';
import { damagedObject } from '../damaged-error.js';
import { headerNames } from '../rows/header.js';
import type { Profile } from '../rows/profile.js';
import type { SortKey } from '../rows/row.js';
import { type Column, META_COLUMNS, typeNames } from '../rows/schema.js';
import type { Shape } from '../rows/shapes.js';
import type { ClockTimes, Gap } from '../run/watermark.js';
import type { ObjectStore } from '../store/index.js';
import { checkNamedChecksum, encodeWithChecksum, manifestChecksumState } from './checksums.js';
import { folderOf, inFolder, MANIFEST, nameOf } from './layout.js';
import { checkLayout, LAYOUT_VERSION } from './layout-version.js';

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
  /** Line breaks inside cells, including the header's. */
  readonly lineBreaks: number;
  /** CRC-32 of the part's block index; absent in change logs, which have no index. */
  readonly indexCrc32?: string;
  /** Figures of its rows for checks before publish; absent: not measured. */
  readonly checks?: Figures;
}

/** The fields of a written part that the manifest records. */
export function toPublished(written: PublishedPart): PublishedPart {
  const { key, bytes, rawBytes, rows, crc32, sha256, first, last, lineBreaks, indexCrc32, checks } = written;
  return {
    ...{ key, bytes, rawBytes, rows, crc32, sha256, first, last, lineBreaks },
    ...(indexCrc32 === undefined ? {} : { indexCrc32 }),
    ...(checks === undefined ? {} : { checks }),
  };
}

/** Adds the line breaks of parts to a number. */
export function addLineBreaks(before: number, parts: readonly Pick<PublishedPart, 'lineBreaks'>[]): number {
  return parts.reduce((total, part) => total + part.lineBreaks, before);
}

/** How many previous runs a manifest lists, so that walking the chain does not take a request for each run. */
export const PREVIOUS_RUNS = 100;

/** A published run, as the manifests of later runs list it. */
export interface PreviousRun {
  readonly runId: RunId;
  /** Milliseconds since 1970. */
  readonly publishedAt: number;
}

/** The previous runs of a run. @param before the run that it is based on; `null` for none */
export function previousRuns(
  before: (PreviousRun & Pick<Manifest, 'previousRuns'>) | null,
): readonly PreviousRun[] {
  if (before === null) return [];
  const { runId, publishedAt } = before;
  return [{ runId, publishedAt }, ...before.previousRuns].slice(0, PREVIOUS_RUNS);
}

/** The last full read that a snapshot is based on (docs/explanation/guarantees.md#full-reads). */
export interface FullRead {
  /** Start of the full read, ISO 8601. */
  readonly startedAt: string;
  /** Number of consecutive published runs, up to this one, whose list shifted; 0 if this run's list did not. */
  readonly shifted: number;
  /** Pages of the full read, and records per page. Absent: not known. */
  readonly pages?: number;
  readonly pageSize?: number;
}

/**
 * A rollback that no complete full read has followed yet (docs/how-to/backfill-rollback-purge.md). Until then, each later run
 * carries it on.
 */
export interface RolledBack {
  /** The run that published the rollback. */
  readonly runId: RunId;
  /** Key of that run's change log's manifest. */
  readonly changes: ObjectKey;
  /** The run whose rows it published. */
  readonly to: RunId;
  /** The run before it: to undo a rollback is to roll back to this run. */
  readonly from: RunId;
  /** Runs whose snapshots are kept until then: targets, and runs before rollbacks. */
  readonly keep: readonly RunId[];
  /** The run before the first rollback that no complete full read has followed. */
  readonly head: RunId;
  /** These rollbacks, oldest first; none if the last one has returned to `head`, so that all of them are undone. */
  readonly rollbacks: readonly PastRollback[];
}

/** What tells the rows that a rollback changed. */
export interface PastRollback {
  /** `_synced_at` of these rows. */
  readonly syncedAt: UtcSeconds;
  /** Key of the manifest of its change log. */
  readonly changes: ObjectKey;
}

/** What identifies the list that a snapshot mirrors, apart from the service's address. */
export interface ListIdentity {
  /** Path of the list endpoint. */
  readonly path: string;
  /** The list before it, as long as rows of that list may be left that this one does not have; absent: none. */
  readonly earlier?: string;
}

export interface ManifestInput {
  readonly connection: string;
  readonly baseUrl: string;
  readonly resource: string;
  readonly tree: 'snapshot' | 'changes';
  readonly writer: Writer;
  readonly runId: RunId;
  /** The runs before it, newest first, as `previousRuns` returns them. */
  readonly previousRuns: readonly PreviousRun[];
  readonly leftBehind: readonly RunId[];
  readonly mode: PublishedMode;
  readonly updatedSince: UtcSeconds | null;
  readonly checkpoint: UtcSeconds;
  readonly startedAt: number;
  /** Up to when everything was read. */
  readonly readUpTo: ClockTimes;
  readonly publishedAt: number;
  readonly pages: number;
  readonly counts: RunCounts;
  readonly columns: readonly Column[];
  readonly profile: Profile;
  readonly fingerprint: string;
  readonly list: ListIdentity;
  /** What shaped the cells, oldest first; the last one is the run's settings. */
  readonly shapes: readonly Shape[];
  readonly parts: readonly PublishedPart[];
  readonly gap: Gap | null;
  readonly fullRead: FullRead | null;
  readonly rolledBack: RolledBack | null;
  /** What is known about deletes of the resource. */
  readonly deletes: DeleteDetection;
  /** Line breaks inside the cells of all change logs up to this run. */
  readonly changesLineBreaks: number;
  readonly warnings: readonly string[];
  /** Types of table columns that all values were checked against, by column; absent: none. */
  readonly checkedTypes?: Readonly<Record<string, string>> | undefined;
  /** Results of the checks before publish; absent: there were none. */
  readonly checked?: CheckRecord | undefined;
}

/** Encodes `_datapackage.json`: a Frictionless tabular data package with our own fields under `worktrack` (docs/reference/lake.md). */
export function encodeManifest(input: ManifestInput): Buffer {
  const { columns, parts } = input;
  const { csv } = input.profile;
  const gzip = csv.compression === 'gzip';
  // The standard requires the names that the header has, which may be escaped.
  const names = headerNames(columns, csv);
  const schema = {
    fields: [
      ...META_COLUMNS.map((name) => ({ name, type: 'string' })),
      ...columns.map((column, at) => ({
        name: names[at + META_COLUMNS.length]!,
        type: 'string',
        jsonTypes: typeNames(column.types),
      })),
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
      writer: input.writer,
      previousRunId: input.previousRuns[0]?.runId ?? null,
      previousRuns: input.previousRuns,
      leftBehind: input.leftBehind,
      mode: input.mode,
      key: input.profile.key,
      updatedSince: input.updatedSince,
      checkpoint: { updatedSince: input.checkpoint },
      startedAt: new Date(input.startedAt).toISOString(),
      readUpTo: {
        workflow: new Date(input.readUpTo.workflow).toISOString(),
        service: input.readUpTo.service === null ? null : new Date(input.readUpTo.service).toISOString(),
      },
      publishedAt: new Date(input.publishedAt).toISOString(),
      pages: input.pages,
      counts: input.counts,
      gap: input.gap,
      fullRead: input.fullRead,
      rolledBack: input.rolledBack,
      deletes: input.deletes,
      changesLineBreaks: input.changesLineBreaks,
      warnings: input.warnings,
      ...(input.checkedTypes === undefined ? {} : { checkedTypes: input.checkedTypes }),
      ...(input.checked === undefined ? {} : checkFields(input.checked, input.tree)),
      csv,
      selection: input.profile.columns,
      fingerprint: input.fingerprint,
      list: input.list,
      shapes: input.shapes,
      columns,
      parts: parts.map(({ key, ...part }) => ({ path: nameOf(key), ...part })),
    },
  };
  return encodeWithChecksum(manifest);
}

/** A change log has the results only: no run continues with its parts. */
function checkFields({ results, measured, uniques }: CheckRecord, tree: ManifestInput['tree']): object {
  return { checks: results, ...(tree === 'snapshot' ? { measured, uniques } : {}) };
}

/** The manifest fields that the connector reads. */
export interface Manifest {
  readonly runId: RunId;
  readonly writer: Writer;
  readonly previousRunId: RunId | null;
  /** The last runs before this one, newest first: at most `PREVIOUS_RUNS`, and all if there are fewer. */
  readonly previousRuns: readonly PreviousRun[];
  /**
   * Heads of chains that this run and the runs before it left behind, newest first: published runs that are not on its chain,
   * because `latest.json` was lost or restored from an earlier version, and adopted.
   */
  readonly leftBehind: readonly RunId[];
  readonly mode: PublishedMode;
  /** Value of the list parameter `updatedSince`; `null` for a full read. */
  readonly updatedSince: UtcSeconds | null;
  readonly checkpoint: { readonly updatedSince: UtcSeconds };
  /** ISO 8601. */
  readonly publishedAt: string;
  readonly fingerprint: string;
  readonly columns: readonly Column[];
  readonly key: readonly string[];
  readonly csv: CsvSettings;
  /** Settings for included, excluded and masked columns. */
  readonly selection: ColumnSettings;
  readonly list: ListIdentity;
  /** What shaped the cells, oldest first (docs/explanation/guarantees.md#changed-settings). */
  readonly shapes: readonly Shape[];
  /** `unrestored`: rows that keep cells of earlier settings, counted when the settings change. */
  readonly counts: RunCounts & { readonly unrestored?: number; readonly dropped?: number };
  readonly pages: number;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Up to when everything was read, on both clocks, ISO 8601. */
  readonly readUpTo: { readonly workflow: string; readonly service: string | null };
  readonly parts: readonly PublishedPart[];
  readonly warnings: readonly string[];
  readonly gap: Gap | null;
  /** Types of table columns (`tables.types`) that all values were checked against; absent: none. */
  readonly checkedTypes?: Readonly<Record<string, string>>;
  readonly fullRead: FullRead | null;
  readonly rolledBack: RolledBack | null;
  readonly deletes: DeleteDetection;
  /** Line breaks inside the cells of all change logs up to this run. */
  readonly changesLineBreaks: number;
  /** Results of the checks before publish; absent: there were none. */
  readonly checks?: readonly CheckResult[];
  /** What the checks of later runs compare with; absent in change logs, and if there were no checks. */
  readonly measured?: MeasuredRows;
  /** Hashes of values that are compared with each other; absent in change logs, and if there were no checks. */
  readonly uniques?: Readonly<Record<string, UniqueState>>;
  /** Purges of this run's rows, oldest first. The purged keys are not recorded. */
  readonly purged?: readonly Purge[];
}

/** A purge, as recorded in a manifest. */
export interface Purge {
  readonly runId: RunId;
  /** Number of rows removed from this tree. */
  readonly rows: number;
}

/**
 * Reads and decodes a manifest.
 *
 * @param sha256 the SHA-256 in `latest.json`, if it has one
 * @returns `null` if there is no manifest
 * @throws DamagedError if the manifest is damaged; StoreError if the store fails
 */
export async function readManifest(
  store: ObjectStore,
  key: ObjectKey,
  sha256?: string | null,
): Promise<Manifest | null> {
  const found = await store.readIfExists(key);
  if (found === null) return null;
  checkNamedChecksum(key, found.body, sha256);
  return decodeManifest(found.body, folderOf(key));
}

/**
 * Decodes a manifest and checks its checksum.
 *
 * @param folder key of the manifest's folder; part names are relative to it
 * @throws DamagedError
 */
export function decodeManifest(body: Buffer, folder: ObjectKey): Manifest {
  return toManifest(decoded(body, folder, 'checked'), folder);
}

/** As `decodeManifest`, without the checksum: `verify` continues after a wrong checksum. */
export function decodeUnchecked(body: Buffer, folder: ObjectKey): Manifest {
  return toManifest(decoded(body, folder, 'unchecked'), folder);
}

function toManifest({ layout: _, parts, ...rest }: Encoded, folder: ObjectKey): Manifest {
  return {
    ...rest,
    parts: parts.map(({ path, ...part }) => ({ ...part, key: `${folder}/${path}` as ObjectKey })),
  };
}

interface Encoded extends Omit<Manifest, 'parts'> {
  readonly layout: number;
  readonly parts: readonly (Omit<PublishedPart, 'key'> & { readonly path: string })[];
}

function decoded(body: Buffer, folder: ObjectKey, checksum: 'checked' | 'unchecked'): Encoded {
  const key = inFolder(folder, MANIFEST);
  let manifest: { worktrack?: Encoded } | null;
  try {
    manifest = parseStored(body) as { worktrack?: Encoded } | null;
  } catch (cause) {
    throw damagedObject(key, `it cannot be read: ${errorMessage(cause)}`, cause);
  }
  const { worktrack } = manifest ?? {};
  if (typeof worktrack?.layout !== 'number')
    throw damagedObject(key, 'it is not a manifest of this connector');
  const state = manifestChecksumState({ ...manifest, worktrack });
  const mustMatch = checksum === 'checked';
  if (mustMatch && state === 'broken') throw damagedObject(key, 'its content does not match its checksum');
  // A damaged document can have any layout.
  if (state !== 'broken') checkLayout(key, worktrack.layout);
  if (mustMatch && state === 'none') throw damagedObject(key, 'it has no checksum');
  return worktrack;
}
