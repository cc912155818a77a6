import { z } from 'zod';
import type { ObjectKey, RunId, UtcSeconds } from '../../core/brands.js';
import type { DeleteDetection } from '../../core/contract/index.js';
import { isRunId } from '../../core/run-id.js';
import type { SchemaChange } from '../../core/schema-changes.js';
import type { ColumnSettings, CsvSettings } from '../../core/settings.js';
import { isUtcSeconds } from '../../core/utc-time.js';
import type { StoredWarning } from '../../core/warnings.js';
import type { Column } from '../rows/data-columns.js';
import type { SortKey } from '../rows/row.js';
import type { Shape } from '../rows/shapes.js';
import { keyProblem } from '../store/key.js';
import type { CheckResult, Figures, MeasuredRows, UniqueState } from './check-record.js';
import { LAYOUT_VERSION, PREVIOUS_RUNS } from './lake-layout.js';

/**
 * The schemas of `latest.json` and `_datapackage.json`. The types of reader and writer are derived from them; only `verify`
 * checks documents against them, because a document whose checksum is right was written with these types.
 */

/** A document as it is read: nothing of it changes. */
type Stored<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Stored<Item>[]
    : { readonly [Name in keyof T]: Stored<T[Name]> };

/** A text that has a branded type. */
function text<T extends string>(isValid: (text: string) => boolean, problem: string): z.ZodType<T> {
  return z.custom<T>((value) => typeof value === 'string' && isValid(value), { error: problem });
}

/** A value that is only checked as far as `schema` says, because another module knows its form. */
function known<T>(schema: z.ZodType = z.looseObject({})): z.ZodType<T> {
  return schema as z.ZodType<T>;
}

const count = z.int().min(0);
const runId = text<RunId>(isRunId, 'is not a run id');
const objectKey = text<ObjectKey>((key) => keyProblem(key) === null, 'is not an object key');
const utcSeconds = text<UtcSeconds>(isUtcSeconds, 'is not a UTC time');
const sortKey = text<SortKey>(() => true, 'is not a text').nullable();
/** ISO 8601. */
const time = z.iso.datetime();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/, { error: 'is not a SHA-256' });
const crc32 = z.string().regex(/^[0-9a-f]{8}$/, { error: 'is not a CRC32' });

/** The mirror that wrote a document. */
const writer = z.object({ workflow: z.string(), namespace: z.string() });
const checkpoint = z.object({ updatedSince: utcSeconds });

/** What tells the rows that a rollback changed. */
const pastRollback = z.object({
  /** `_synced_at` of these rows. */
  syncedAt: utcSeconds,
  /** Key of the manifest of its change log. */
  changes: objectKey,
});

/**
 * A rollback that no complete full read has followed yet (docs/how-to/backfill-rollback-purge.md). Until then, each later run
 * carries it on.
 */
const rolledBack = z.object({
  /** The run that published the rollback. */
  runId,
  /** Key of that run's change log's manifest. */
  changes: objectKey,
  /** The run whose rows it published. */
  to: runId,
  /** The run before it: to undo a rollback is to roll back to this run. */
  from: runId,
  /** Runs whose snapshots are kept until then: targets, and runs before rollbacks. */
  keep: z.array(runId),
  /** The run before the first rollback that no complete full read has followed. */
  head: runId,
  /** These rollbacks, oldest first; none if the last one has returned to `head`, so that all of them are undone. */
  rollbacks: z.array(pastRollback),
});

/** `latest.json`: names the current snapshot (docs/reference/lake.md). */
export const pointerSchema = z.object({
  resource: z.string(),
  runId,
  /** Key of the snapshot's `_datapackage.json`. */
  snapshot: objectKey,
  changes: objectKey.nullable(),
  publishedAt: time,
  checkpoint,
  /** Rows of the snapshot, including tombstones. */
  rows: count,
  connection: z.string(),
  baseUrl: z.string(),
  /** Earlier addresses of the service, which `export --adopt` has followed; absent: none. */
  formerBaseUrls: z.array(z.string()).optional(),
  layout: z.literal(LAYOUT_VERSION),
  writer,
  /** As in the manifest. */
  rolledBack: rolledBack.nullable(),
  /**
   * Run id of the purge that wrote this version. It makes the text of every version unique, so that a delayed
   * swap that expects an earlier version cannot succeed (docs/internals/recovery.md#writes).
   */
  amendedBy: runId.optional(),
  /** SHA-256 of the two manifests. */
  manifests: z.object({ snapshot: sha256, changes: sha256.nullable() }),
  checksum: sha256,
});

/** A part of a published tree. */
const part = z.object({
  /** Name in the folder of the manifest. */
  path: z.string().regex(/^[^/\\]+$/, { error: 'is not the name of an object in the folder' }),
  bytes: count,
  rawBytes: count,
  rows: count,
  crc32,
  sha256,
  /** CRC-32 of the part's block index; absent in change logs, which have no index. */
  indexCrc32: crc32.optional(),
  /** Line breaks inside cells, including the header's. */
  lineBreaks: count,
  first: sortKey,
  last: sortKey,
  /** Figures of its rows for checks before publish; absent: not measured. */
  checks: known<Figures>().optional(),
  /**
   * SHA-256 of the two parts that this part follows from: one of the snapshot before, and one of the run's change log. It has the rows of the
   * first whose keys the second does not have, and all rows of the second. Absent: they do not determine it. `columns`: those where rows
   * with the same key differ; absent: not known, or many.
   */
  base: z
    .object({ part: sha256, changes: sha256, columns: z.array(z.string()).readonly().optional() })
    .optional(),
});

/** A published run, as the manifests of later runs list it. `publishedAt`: milliseconds since 1970. */
const previousRun = z.object({ runId, publishedAt: count });

/** The last full read that a snapshot is based on (docs/explanation/guarantees.md#full-reads). */
const fullRead = z.object({
  /** Start of the full read, ISO 8601. */
  startedAt: z.string(),
  /** Number of consecutive published runs, up to this one, whose list shifted or was incomplete; 0 if this run's was neither. */
  shifted: count,
  /** Whether the last complete full read had exactly as many records as the service said. Absent: no. */
  hasExactTotal: z.boolean().optional(),
  /** Records of the last full read that had exactly its total. Absent: none, or an earlier build has read it. */
  listed: count.optional(),
  /** Whether the totals of lists of changes count changes alone, by the last full read that has shown it. Absent: not known. */
  countsChanges: z.boolean().optional(),
  /** Rows that the last full read that compared them found changed, and that no increment has shown. Absent: none has compared. */
  missed: count.optional(),
  /** Pages of the full read, and records per page. Absent: not known. */
  pages: count.optional(),
  pageSize: count.optional(),
});

/** A time span whose changes are no longer in any list (docs/explanation/guarantees.md#windows). */
const gap = z.object({ from: utcSeconds, to: utcSeconds });

/** What identifies the list that a snapshot mirrors, apart from the service's address. */
const list = z.object({
  /** Path of the list endpoint, with its configured parameters. */
  path: z.string(),
  /** How its records said that they are deleted; absent: not known. */
  deleted: z.object({ field: z.string(), values: z.array(z.string()).nullable() }).optional(),
  /** The list before it, as long as rows of that list may be left that this one does not have; absent: none. */
  earlier: z.string().optional(),
});

/** Whose data a snapshot holds (docs/explanation/guarantees.md#organization-check). */
const organization = z.object({
  /** Fingerprints of API keys that belong to the organization, the newest last. */
  keys: z.array(z.string()),
  /** What the run has found out about its key. */
  basis: z.enum(['first', 'same-key', 'records', 'adopted']),
});

/** A purge of this run's rows. The purged keys are not recorded. `rows`: number of rows removed from this tree. */
const purge = z.object({ runId, rows: count });

const counts = z.object({
  ...{ fetched: count, duplicates: count, unchanged: count, inserted: count, updated: count },
  ...{ deleted: count, retained: count, rows: count, restated: count },
  /** Rows that keep cells of earlier settings, counted when the settings change. */
  unrestored: count.optional(),
  dropped: count.optional(),
  /** Fetched records that say that they are deleted, if their row was live or is not known. */
  tombstones: count.optional(),
  /** Rows that a full read found changed, and that no increment has shown; 0 without a comparison, too. */
  missed: count.optional(),
  /** Rows that stay, because the service returned one with an earlier "updated at". */
  wentBack: count.optional(),
});

/** Our own fields of `_datapackage.json` (docs/reference/lake.md#manifests). */
const worktrack = z.object({
  /** `checkLayout` says what to do with another one than `LAYOUT_VERSION`. */
  layout: z.number(),
  connection: z.string(),
  baseUrl: z.string(),
  resource: z.string(),
  tree: z.enum(['snapshot', 'changes']),
  runId,
  writer,
  previousRunId: runId.nullable(),
  /** The last runs before this one, newest first: at most `PREVIOUS_RUNS`, and all if there are fewer. */
  previousRuns: z.array(previousRun).max(PREVIOUS_RUNS),
  /**
   * Heads of chains that this run and the runs before it left behind, newest first: published runs that are not on its chain,
   * because `latest.json` was lost or restored from an earlier version, and adopted.
   */
  leftBehind: z.array(runId),
  mode: z.enum(['full', 'increment', 'rollback']),
  key: z.array(z.string()).min(1),
  /** Value of the list parameter `updatedSince`; `null` for a full read. */
  updatedSince: utcSeconds.nullable(),
  checkpoint,
  startedAt: time,
  /** Up to when everything was read, on both clocks. */
  readUpTo: z.object({ workflow: time, service: time.nullable() }),
  publishedAt: time,
  pages: count,
  counts,
  gap: gap.nullable(),
  fullRead: fullRead.nullable(),
  rolledBack: rolledBack.nullable(),
  deletes: known<DeleteDetection>(),
  /** Absent: an earlier build wrote the manifest. */
  organization: organization.optional(),
  /** Line breaks inside the cells of all change logs up to this run. */
  changesLineBreaks: count,
  /** All of them in English, schema changes included. */
  warnings: z.array(z.string()),
  /** The warnings as this connector reads them; absent: an earlier build wrote the manifest. */
  warningFacts: known<readonly StoredWarning[]>(z.array(z.looseObject({ kind: z.string() }))).optional(),
  /** New columns, and new types of known ones; absent: none. */
  schemaChanges: known<readonly SchemaChange[]>(z.array(z.looseObject({ name: z.string() }))).optional(),
  /** Types of table columns (`tables.types`) that all values were checked against, by column; absent: none. */
  checkedTypes: z.record(z.string(), z.string()).optional(),
  /** Results of the checks before publish; absent: there were none. */
  checks: known<readonly CheckResult[]>(z.array(z.looseObject({}))).optional(),
  /** What the checks of later runs compare with; absent in change logs, and if there were no checks. */
  measured: known<MeasuredRows>().optional(),
  /** Hashes of values that are compared with each other; absent in change logs, and if there were no checks. */
  uniques: known<Readonly<Record<string, UniqueState>>>().optional(),
  csv: known<CsvSettings>(
    z.looseObject({
      delimiter: z.string().length(1),
      compression: z.enum(['gzip', 'none']),
      lineBreaks: z.enum(['keep', 'escape']),
    }),
  ),
  /** Settings for included, excluded and masked columns. */
  selection: known<ColumnSettings>(),
  fingerprint: z.string(),
  list,
  /** What shaped the cells, oldest first; the last one is the run's settings (docs/explanation/guarantees.md#changed-settings). */
  shapes: known<readonly Shape[]>(z.array(z.looseObject({})).min(1)),
  columns: known<readonly Column[]>(z.array(z.looseObject({ name: z.string(), types: count }))),
  parts: z
    .array(part)
    .min(1, { error: 'is empty, but even a snapshot without rows has one part with a header' }),
  /** Purges of this run's rows, oldest first. */
  purged: z.array(purge).optional(),
  /** SHA-256 of the versions that this one replaces, oldest first. */
  replaces: z.array(sha256).optional(),
  checksum: sha256,
});

/** `_datapackage.json`: a Frictionless tabular data package with our own fields under `worktrack`. */
export const manifestSchema = z.object({
  resources: z.array(
    z.object({
      name: z.string(),
      path: z.string(),
      bytes: count,
      hash: z.string(),
      rowCount: count,
      schema: z.object({ fields: z.array(z.object({ name: z.string() })) }),
    }),
  ),
  worktrack,
});

/** As in the manifest. */
export type Organization = Stored<z.infer<typeof organization>>;
export type StoredPointer = Stored<z.output<typeof pointerSchema>>;
export type StoredManifest = Stored<z.output<typeof worktrack>>;
export type StoredPart = Stored<z.output<typeof part>>;
export type PreviousRun = Stored<z.output<typeof previousRun>>;
export type FullRead = Stored<z.output<typeof fullRead>>;
export type RolledBack = Stored<z.output<typeof rolledBack>>;
export type Gap = Stored<z.output<typeof gap>>;
export type ListIdentity = Stored<z.output<typeof list>>;
/** A manifest whose parts are replaced, as JSON. */
export type ManifestJson = z.output<typeof manifestSchema>;
