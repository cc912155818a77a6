import type { ObjectKey } from '../../core/brands.js';
import type { LakeSettings } from '../../core/settings.js';
import { auditKeys } from '../../lake/documents/audit-statement.js';
import { MANIFEST } from '../../lake/documents/lake-layout.js';
import { META_COLUMNS } from '../../lake/rows/data-columns.js';
import { type ObjectStore, toObjectKey } from '../../lake/store/index.js';
import { pathIn } from './duckdb-views.js';
import { type Statement, statement } from './engine-views.js';
import { sqlName, sqlString } from './names-and-quotes.js';

/**
 * Views of what a lake says about itself (docs/how-to/query.md#operations): one row for each published run, check, change of the columns,
 * written row and audited resource. They are for DuckDB only: the manifests' names begin with `_`, and Athena, Trino and Spark skip such files.
 */
export const OPERATIONS = [
  'worktrack_runs',
  'worktrack_checks',
  'worktrack_schema_changes',
  'worktrack_receipts',
  'worktrack_audits',
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** What a view reads. */
export type OperationFiles = 'manifests' | 'receipts' | 'audits';

export const FILES_OF: Readonly<Record<Operation, OperationFiles>> = {
  worktrack_runs: 'manifests',
  worktrack_checks: 'manifests',
  worktrack_schema_changes: 'manifests',
  worktrack_receipts: 'receipts',
  worktrack_audits: 'audits',
};

/** Globs of the files in a lake. A manifest of a snapshot that the retention has removed is left in the change logs. */
const GLOBS: Readonly<Record<OperationFiles, readonly string[]>> = {
  manifests: ['snapshots', 'changes'].map((tree) => `*/${tree}/dt=*/run=*/${MANIFEST}`),
  receipts: ['_write-back/*/results.csv'],
  audits: ['_audits/*.json'],
};

/** Longest manifest that DuckDB reads, in bytes. */
const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024;

const json = (files: string, columns: Readonly<Record<string, string>>): string => {
  return `read_json(${files}, maximum_object_size = ${MAX_DOCUMENT_BYTES}, columns = ${structOf(columns)})`;
};

/** Columns and their types, as DuckDB's readers take them. */
function structOf(columns: Readonly<Record<string, string>>): string {
  const list = Object.entries(columns).map(([name, type]) => `${sqlName(name)}: ${sqlString(type)}`);
  return `{${list.join(', ')}}`;
}

/** The columns of `results.csv`, in their order. */
export const RECEIPT_TYPES = {
  row: 'BIGINT',
  key: 'VARCHAR',
  idempotency_key: 'VARCHAR',
  outcome: 'VARCHAR',
  http_status: 'INTEGER',
  id: 'VARCHAR',
  message: 'VARCHAR',
} as const;

/** Times are in UTC, as in the other views. */
const time = (text: string): string => `make_timestamp(epoch_us(CAST(${text} AS TIMESTAMPTZ)))`;
const dayOf = (runId: string): string => `CAST(strptime(${runId}[:8], '%Y%m%d') AS DATE)`;

/** Counts of an audit, and their columns. */
const AUDITED = [
  ...(['rows', 'cells', 'equal', 'different', 'missing', 'extra', 'pending'] as const).map((name) => [
    name,
    name,
  ]),
  ['notYetLookedFor', 'not_yet_looked_for'],
  ['notComparable', 'not_comparable'],
] as const;

const COUNTS = ['rows', 'fetched', 'inserted', 'updated', 'deleted', 'unchanged', 'restated', 'duplicates'];
const RUN = `STRUCT("connection" VARCHAR, resource VARCHAR, "runId" VARCHAR, "previousRunId" VARCHAR, "previousRuns" STRUCT("runId" VARCHAR)[], mode VARCHAR, "updatedSince" VARCHAR, checkpoint STRUCT("updatedSince" VARCHAR), "startedAt" VARCHAR, "publishedAt" VARCHAR, pages BIGINT, counts STRUCT(${COUNTS.map((name) => `${name} BIGINT`).join(', ')}), "rolledBack" STRUCT("runId" VARCHAR, "to" VARCHAR), warnings VARCHAR[], checks STRUCT(name VARCHAR, outcome VARCHAR, allowed VARCHAR, found VARCHAR, rows BIGINT, "acceptedBy" VARCHAR)[])`;
const PARTS = 'STRUCT("schema" STRUCT(fields STRUCT(name VARCHAR, "jsonTypes" VARCHAR[])[]))[]';

/**
 * The published runs, one document each: those on the chains of the pointers, whose manifests list up to 100 runs before them.
 *
 * @param pointers SQL for the list of pointers; `null`: all documents are of published runs
 */
function runs(files: string, pointers: string | null): string {
  const documents = `SELECT worktrack AS w, resources[1]."schema".fields AS fields\n  FROM ${json(files, { worktrack: RUN, resources: PARTS })}`;
  const each = 'SELECT DISTINCT ON (w.resource, w."runId") w, fields FROM documents';
  if (pointers === null) return `WITH documents AS (\n  ${documents}\n), runs AS (\n  ${each}\n)`;
  const heads = `SELECT resource, "runId" AS run FROM ${json(pointers, { resource: 'VARCHAR', runId: 'VARCHAR' })}`;
  const of = 'd ON d.w.resource = r.resource AND d.w."runId" = r.run';
  return (
    `WITH RECURSIVE documents AS MATERIALIZED (\n  ${documents}\n), reached AS (\n  ${heads}\n` +
    `  UNION SELECT r.resource, d.w."previousRuns"[len(d.w."previousRuns")]."runId" FROM reached r JOIN documents ${of}\n` +
    '  WHERE len(d.w."previousRuns") > 0\n' +
    '), published AS (\n  SELECT resource, run FROM reached\n' +
    `  UNION SELECT resource, before."runId" FROM (SELECT r.resource, unnest(d.w."previousRuns") AS before FROM reached r JOIN documents ${of})\n` +
    `), runs AS (\n  ${each}\n  WHERE (w.resource, w."runId") IN (SELECT resource, run FROM published)\n)`
  );
}

const OF_RUN = `w.resource, ${dayOf('w."runId"')} AS dt, w."runId" AS run_id`;

/** The row types of each view. @param files SQL for a list of files */
const QUERIES: Readonly<Record<Operation, (files: string, pointers: string | null) => string>> = {
  worktrack_runs: (files, pointers) =>
    `${runs(files, pointers)}\nSELECT w."connection", ${OF_RUN}, w.mode, ${time('w."startedAt"')} AS started_at,\n` +
    `  ${time('w."publishedAt"')} AS published_at, ${COUNTS.map((name) => `w.counts.${name}`).join(', ')}, w.pages,\n` +
    `  ${time('w."updatedSince"')} AS updated_since, ${time('w.checkpoint."updatedSince"')} AS "checkpoint",\n` +
    '  w."previousRunId" AS previous_run_id, CASE WHEN w.mode = \'rollback\' THEN w."rolledBack"."to" END AS rolled_back_to,\n' +
    `  len(fields) - ${META_COLUMNS.length} AS "columns", w.warnings\nFROM runs`,
  worktrack_checks: (files, pointers) =>
    `${runs(files, pointers)}, checks AS (\n  SELECT w, unnest(w.checks) AS c FROM runs\n)\n` +
    `SELECT ${OF_RUN}, ${time('w."publishedAt"')} AS published_at, c.name AS "check", c.outcome, c.allowed, c.found,\n` +
    '  c.rows, c."acceptedBy" AS accepted_by\nFROM checks',
  worktrack_schema_changes: (files, pointers) =>
    `${runs(files, pointers)}, pairs AS (\n` +
    '  SELECT w, w.resource AS resource, w."runId" AS run, lag(w."runId") OVER (PARTITION BY w.resource ORDER BY w."runId") AS earlier FROM runs\n' +
    '), listed AS (\n  SELECT w.resource AS resource, w."runId" AS run, unnest(fields) AS f FROM runs\n' +
    '), now AS (\n  SELECT p.w, p.run, f.name, f."jsonTypes" AS types FROM pairs p JOIN listed l ON l.resource = p.resource AND l.run = p.run\n' +
    '  WHERE p.earlier IS NOT NULL\n' +
    '), before AS (\n  SELECT p.w, p.run, f.name, f."jsonTypes" AS types FROM pairs p JOIN listed l ON l.resource = p.resource AND l.run = p.earlier\n' +
    '), compared AS (\n  SELECT coalesce(n.w, b.w) AS w, coalesce(n.name, b.name) AS name, b.types AS types_before, n.types AS types_after\n' +
    '  FROM now n FULL JOIN before b ON n.w.resource = b.w.resource AND n.run = b.run AND n.name = b.name\n)\n' +
    `SELECT ${OF_RUN}, ${time('w."publishedAt"')} AS published_at, name AS "column",\n` +
    "  CASE WHEN types_before IS NULL THEN 'added' WHEN types_after IS NULL THEN 'removed' ELSE 'types' END AS change,\n" +
    '  types_before, types_after\nFROM compared WHERE types_before IS DISTINCT FROM types_after',
  worktrack_receipts: (files) =>
    `SELECT regexp_extract(filename, '_write-back/([^/]+)/results.csv', 1) AS batch_id, * EXCLUDE (filename)\nFROM read_csv(${files}, ` +
    `header = true, delim = ',', quote = '"', escape = '"', nullstr = '', allow_quoted_nulls = false, filename = true,\n` +
    `  auto_detect = false, hive_partitioning = false, columns = ${structOf(RECEIPT_TYPES)})`,
  worktrack_audits: (files) =>
    `WITH audits AS (\n  SELECT * EXCLUDE (resources), unnest(resources) AS r\n  FROM ${json(files, {
      auditedAt: 'VARCHAR',
      connection: 'VARCHAR',
      version: 'VARCHAR',
      partial: 'BOOLEAN',
      resources: `STRUCT(name VARCHAR, "runId" VARCHAR, ${AUDITED.map(([name]) => `"${name}" BIGINT`).join(', ')}, error VARCHAR)[]`,
    })}\n)\nSELECT "connection", r.name AS resource, ${time('"auditedAt"')} AS audited_at, r."runId" AS run_id,\n` +
    `  ${AUDITED.map(([name, as]) => `r."${name}" AS ${as}`).join(', ')},\n  "partial", r.error, version\nFROM audits`,
};

/** SQL for a list of paths or globs. */
export function listOf(paths: readonly string[]): string {
  return `[${paths.map(sqlString).join(', ')}]`;
}

/**
 * A query for the rows of a view.
 *
 * @param files SQL for the list of its files
 * @param pointers SQL for the list of the pointers of all resources; `null`: the files are those of published runs
 */
export function operationQuery(operation: Operation, files: string, pointers: string | null): string {
  return QUERIES[operation](files, pointers);
}

/** What a lake has for these views. @throws StoreError */
export async function operationsIn(store: ObjectStore): Promise<ReadonlySet<OperationFiles>> {
  const found = new Set<OperationFiles>(['manifests']);
  if ((await auditKeys(store)).length > 0) found.add('audits');
  for (const key of await receiptKeys(store))
    if ((await store.head(key)) !== null) {
      found.add('receipts');
      break;
    }
  return found;
}

/** Where each batch has its receipts, if it has any. */
export async function receiptKeys(store: ObjectStore): Promise<ObjectKey[]> {
  const folders = await store.listFolders('_write-back/');
  const batches = folders.filter((name) => name !== '_ledger');
  return batches.map((batch) => toObjectKey(`_write-back/${batch}/results.csv`));
}

/** A query for the rows of a view that reads the lake itself. */
export function lakeQuery(lake: LakeSettings, operation: Operation): string {
  const inLake = (globs: readonly string[]): string =>
    listOf(globs.map((glob) => `${pathIn(lake, '')}${glob}`));
  return operationQuery(operation, inLake(GLOBS[FILES_OF[operation]]), inLake(['*/latest.json']));
}

/**
 * Statements for the views of a lake.
 *
 * @param found what the lake has: DuckDB makes no view of files that do not exist
 * @param named the name of a view. Default: its own
 */
export function operationStatements(
  lake: LakeSettings,
  found: ReadonlySet<OperationFiles>,
  named: (operation: Operation) => string = (operation) => operation,
): Statement[] {
  return OPERATIONS.filter((operation) => found.has(FILES_OF[operation])).map((operation) => {
    const query = lakeQuery(lake, operation);
    return statement(
      'define',
      ABOUT[operation],
      `CREATE OR REPLACE VIEW ${sqlName(named(operation))} AS\n${query}`,
    );
  });
}

const ABOUT: Readonly<Record<Operation, string>> = {
  worktrack_runs: 'Published runs:',
  worktrack_checks: 'Checks of published runs:',
  worktrack_schema_changes: 'Changes of columns and of the types of their values:',
  worktrack_receipts: 'Written rows:',
  worktrack_audits: 'Audited resources:',
};
