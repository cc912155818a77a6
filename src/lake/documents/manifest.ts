import type { EpochMs, ObjectKey } from '../../core/brands.js';
import type { RunRecord } from '../../core/contract/index.js';
import { errorMessage } from '../../core/errors.js';
import { limitWarnings } from '../../core/run-records.js';
import { isMap } from '../../core/schema/values.js';
import { changesField, schemaWarnings } from '../../core/schema-changes.js';
import { parseStored } from '../../core/stored-json.js';
import { typeNames } from '../../core/value-facts.js';
import { type StoredWarning, toWarning, type Warning, warningText } from '../../core/warnings.js';
import { DamagedError, damagedObject } from '../damaged-error.js';
import { headerNames, META_COLUMNS } from '../rows/data-columns.js';
import { encodeWithin } from '../size-limits.js';
import { type ObjectStore, toObjectKey } from '../store/index.js';
import { checkNamedChecksum, encodeWithChecksum, manifestChecksumState, sha256Of } from './checksums.js';
import type { PreviousRun, StoredManifest, StoredPart } from './document-schemas.js';
import {
  checkLayout,
  folderOf,
  inFolder,
  LAYOUT_VERSION,
  MANIFEST,
  nameOf,
  PREVIOUS_RUNS,
} from './lake-layout.js';

/** One moment, on both clocks. */
export interface ClockTimes {
  readonly workflow: EpochMs;
  /** `null`: the service sent no `Date`. */
  readonly service: EpochMs | null;
}

/** A part of a published tree. */
export interface PublishedPart extends Omit<StoredPart, 'path'> {
  readonly key: ObjectKey;
}

/** Adds the line breaks of parts to a number. */
export function addLineBreaks(before: number, parts: readonly Pick<PublishedPart, 'lineBreaks'>[]): number {
  return parts.reduce((total, part) => total + part.lineBreaks, before);
}

/** Number of rows in parts or chunks. */
export function rowsOf(parts: readonly { readonly rows: number }[]): number {
  return parts.reduce((sum, { rows }) => sum + rows, 0);
}

/** The previous runs of a run. @param before the run that it is based on; `null` for none */
export function previousRuns(
  before: (PreviousRun & Pick<Manifest, 'previousRuns'>) | null,
): readonly PreviousRun[] {
  if (before === null) return [];
  const { runId, publishedAt } = before;
  return [{ runId, publishedAt }, ...before.previousRuns].slice(0, PREVIOUS_RUNS);
}

/** The fields of a manifest that the connector reads. */
export interface Manifest extends Omit<StoredManifest, 'layout' | 'parts' | 'checksum' | 'replaces'> {
  readonly parts: readonly PublishedPart[];
}

/** The fields of a manifest that a run writes. */
export interface ManifestFields
  extends Omit<Manifest, 'previousRunId' | 'purged' | 'warnings' | 'warningFacts'> {
  readonly warningFacts: readonly StoredWarning[];
}

/** The warnings of a published run, without its schema changes. */
export function warningsIn({
  warningFacts,
  warnings,
}: Pick<Manifest, 'warningFacts' | 'warnings'>): Warning[] {
  return (warningFacts ?? warnings).map(toWarning);
}

/** What a record keeps of the warnings and schema changes of a published run. */
export function warningFields(manifest: Manifest): Pick<RunRecord, 'warnings' | 'schemaChanges'> {
  return { warnings: limitWarnings(warningsIn(manifest)), ...changesField(manifest.schemaChanges ?? []) };
}

/** All warnings of a manifest in English. */
function textsOf({ warningFacts, schemaChanges: first = [] }: ManifestFields): string[] {
  return [...warningFacts.map(warningText), ...schemaWarnings({ first, count: first.length })];
}

/** Encodes `_datapackage.json`: a Frictionless tabular data package with our own fields under `worktrack` (docs/reference/lake.md). */
export function encodeManifest(input: ManifestFields): Buffer {
  const { parts, columns, ...fields } = input;
  const { csv, previousRuns: before } = fields;
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
    name: `${fields.resource}-${fields.tree}-${fields.runId.toLowerCase()}`,
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
      ...fields,
      warnings: textsOf(input),
      previousRunId: before[0]?.runId ?? null,
      columns,
      parts: parts.map(({ key, ...part }) => ({ path: nameOf(key), ...part })),
    },
  };
  const [first] = parts;
  const key = first === undefined ? toObjectKey(MANIFEST) : inFolder(folderOf(first.key), MANIFEST);
  return encodeWithin(key, () => encodeWithChecksum(manifest));
}

/** A manifest, and which version of it: a purge replaces the manifests of published runs. */
interface ManifestVersion {
  readonly manifest: Manifest;
  /** SHA-256 of the object, 64 lower-case hex digits. */
  readonly sha256: string;
}

/**
 * Reads and decodes a manifest.
 *
 * @param named the SHA-256 in `latest.json`, if it has one
 * @returns `null` if there is no manifest
 * @throws DamagedError if the manifest is damaged; StoreError if the store fails
 */
export async function readManifestVersion(
  store: ObjectStore,
  key: ObjectKey,
  named?: string | null,
): Promise<ManifestVersion | null> {
  const found = await store.readIfExists(key);
  if (found === null) return null;
  checkNamedChecksum(key, found.body, named);
  return { manifest: decodeManifest(found.body, folderOf(key)), sha256: sha256Of(found.body) };
}

/** As `readManifestVersion`, without the version. */
export async function readManifest(
  store: ObjectStore,
  key: ObjectKey,
  named?: string | null,
): Promise<Manifest | null> {
  return (await readManifestVersion(store, key, named))?.manifest ?? null;
}

/** As `readManifest`; a damaged manifest is `null`, too: what it would prove is not known. */
export async function readIntact(store: ObjectStore, key: ObjectKey): Promise<Manifest | null> {
  try {
    return await readManifest(store, key);
  } catch (error) {
    if (error instanceof DamagedError) return null;
    throw error;
  }
}

/**
 * Decodes a manifest and checks its checksum.
 *
 * @param folder key of the manifest's folder; part names are relative to it
 * @param checksum `unchecked`: `verify` continues after a wrong checksum
 * @throws DamagedError
 */
export function decodeManifest(
  body: Buffer,
  folder: ObjectKey,
  checksum: 'checked' | 'unchecked' = 'checked',
): Manifest {
  const key = inFolder(folder, MANIFEST);
  let manifest: { worktrack?: StoredManifest } | null;
  try {
    manifest = parseStored(body) as { worktrack?: StoredManifest } | null;
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
  const odd = mustMatch ? oddField({ ...worktrack }) : null;
  if (odd !== null) throw damagedObject(key, `${odd} have a form that this connector does not write`);
  const { layout: _, parts, ...rest } = worktrack;
  return {
    ...rest,
    parts: parts.map(({ path, ...part }) => ({ ...part, key: `${folder}/${path}` as ObjectKey })),
  };
}

/** Fields whose form everything relies on that reads manifests. */
const LISTS = [
  ...['parts', 'columns', 'warnings', 'warningFacts', 'schemaChanges', 'previousRuns', 'leftBehind'],
] as const;
const MAPS = ['counts', 'csv', 'checkpoint'] as const;

/**
 * A field of another form than what this connector writes; `null` if there is none. A manifest can have one although its checksum is
 * good: whoever may write to the lake can make that. Only `verify` checks everything.
 */
function oddField(fields: Partial<Record<string, unknown>>): string | null {
  const isOdd = (name: string, isGood: (value: unknown) => boolean): boolean =>
    fields[name] !== undefined && !isGood(fields[name]);
  const areMaps = (value: unknown): boolean => Array.isArray(value) && value.every(isMap);
  if (!areMaps(fields.parts) || !areMaps(fields.columns ?? [])) return 'parts or columns';
  const list = LISTS.find((name) => isOdd(name, Array.isArray));
  return list ?? MAPS.find((name) => isOdd(name, isMap)) ?? null;
}
