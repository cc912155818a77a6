import type { StatementType } from '@duckdb/node-api';

/** The types of DuckDB's statements that a text can have, other than SELECT. */
type RefusedType = Exclude<
  keyof typeof StatementType,
  'SELECT' | 'INVALID' | 'RELATION' | 'EXTENSION' | 'LOGICAL_PLAN' | 'MULTI'
>;

/** A harmless statement of each type. */
const BY_TYPE: Readonly<Record<RefusedType, string>> = {
  INSERT: 'INSERT INTO tasks VALUES (1)',
  UPDATE: 'UPDATE tasks SET id = 1',
  DELETE: 'DELETE FROM tasks',
  MERGE_INTO: 'MERGE INTO tasks USING t ON true WHEN MATCHED THEN DELETE',
  CREATE: 'CREATE TABLE t (a INT)',
  CREATE_FUNC: 'CREATE MACRO m(a) AS a + 1',
  ALTER: 'ALTER TABLE tasks ADD COLUMN a INT',
  DROP: 'DROP VIEW tasks',
  COPY: "COPY (SELECT 1) TO 'out.csv'",
  COPY_DATABASE: 'COPY FROM DATABASE memory TO other',
  EXPORT: "EXPORT DATABASE 'folder'",
  ATTACH: "ATTACH 'other.db'",
  DETACH: 'DETACH memory',
  LOAD: 'LOAD httpfs',
  UPDATE_EXTENSIONS: 'UPDATE EXTENSIONS',
  SET: 'SET threads = 1',
  VARIABLE_SET: 'SET VARIABLE a = 1',
  PRAGMA: 'PRAGMA version',
  CALL: 'CALL pragma_version()',
  TRANSACTION: 'BEGIN',
  VACUUM: 'VACUUM',
  ANALYZE: 'ANALYZE',
  PREPARE: 'PREPARE p AS SELECT 1',
  EXECUTE: 'EXECUTE p',
  EXPLAIN: 'EXPLAIN ANALYZE SELECT 1',
};

/** Harmless statements of every kind that is no SELECT. */
export const REFUSED = [
  ...Object.values(BY_TYPE),
  'CREATE OR REPLACE TEMP VIEW v AS SELECT 1',
  'TRUNCATE tasks',
  'CREATE SECRET s (TYPE s3)',
  'CREATE SCHEMA s',
  'CREATE SEQUENCE s',
  'FORCE CHECKPOINT',
  'ROLLBACK',
  'USE memory',
  'INSTALL httpfs',
  'RESET threads',
  "IMPORT DATABASE 'folder'",
  'COMMIT',
  'CHECKPOINT',
  'DEALLOCATE p',
  "COMMENT ON VIEW tasks IS 'a'",
  'PIVOT tasks ON title USING count(*)',
  'EXPLAIN (ANALYZE) SELECT 1',
  'explain /* a comment */ analyze select 1',
  "EXPLAIN COPY (SELECT 1) TO 'out.csv'",
  '-- SELECT\nDROP VIEW tasks',
  '/* SELECT /* nested */ SELECT */ DROP VIEW tasks',
  '(DROP VIEW tasks)',
  '',
  ' \n-- nothing',
  ';',
  '123',
];

/**
 * Statements that are a SELECT, and read or write elsewhere, or change the session, if DuckDB lets them. They may fail or return
 * something; they must change nothing outside.
 */
export const HOSTILE_READS = [
  "FROM read_text('/etc/hostname')",
  "FROM '/etc/hostname'",
  "FROM read_csv('LAKE/**/*.gz')",
  "FROM read_json('http://127.0.0.1:1/')",
  "FROM sniff_csv('/etc/hostname')",
  "FROM glob('/*')",
  "FROM query('DROP VIEW tasks')",
  "FROM enable_logging('QueryLog', storage = 'file', storage_path = 'HOME/log')",
  "SELECT (SELECT count(*) FROM enable_logging(storage = 'file', storage_path = 'HOME/log')), count(*) FROM tasks",
  "FROM enable_profiling(format = 'json', save_location = 'HOME/profile.json')",
  'FROM truncate_duckdb_logs()',
  'FROM checkpoint()',
  "SELECT write_log('x'), count(*) FROM tasks",
  'WITH a AS (SELECT 1) INSERT INTO tasks FROM a',
  'WITH a AS (SELECT 1) DELETE FROM tasks',
  "SELECT nextval('s')",
  'FROM duckdb_secrets()',
];
