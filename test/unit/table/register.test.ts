import { describe, expect, it } from 'vitest';
import type { LakeSettings } from '../../../src/core/settings.js';
import { renderDdl } from '../../../src/sql/ddl/statements.js';
import { DELTA_DIALECTS, type DeltaDialect, registerStatements } from '../../../src/sql/register-tables.js';

const AWS: LakeSettings = { url: 's3://company-lake/worktrack', region: 'eu-central-1' };
const FOLDER: LakeSettings = { url: "file:///data/the%20lake's" };
const COLUMNS = [
  { name: 'id', alias: 'id' },
  { name: 'due date', alias: 'due_date' },
];

const print = (dialect: DeltaDialect, lake = AWS, resource = 'time-entries'): string =>
  renderDdl(registerStatements({ dialect, lake, resource, columns: COLUMNS }));
/** Without comments. */
const active = (script: string): string =>
  script
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('--'))
    .join('\n');

describe('the statement that registers a Delta table', () => {
  it.each<[DeltaDialect, string]>([
    [
      'duckdb',
      `CREATE OR REPLACE MACRO "time_entries"() AS TABLE\nSELECT * FROM delta_scan('s3://company-lake/worktrack/time-entries/table');`,
    ],
    [
      'athena',
      "CREATE EXTERNAL TABLE IF NOT EXISTS `time_entries`\nLOCATION 's3://company-lake/worktrack/time-entries/table'\nTBLPROPERTIES ('table_type' = 'DELTA');",
    ],
    [
      'trino',
      "CALL system.register_table(\n  schema_name => current_schema,\n  table_name => 'time_entries',\n  table_location => 's3://company-lake/worktrack/time-entries/table'\n);",
    ],
    [
      'spark',
      "CREATE TABLE IF NOT EXISTS `time_entries`\nUSING DELTA\nLOCATION 's3a://company-lake/worktrack/time-entries/table';",
    ],
    [
      'databricks',
      "CREATE TABLE IF NOT EXISTS `time_entries`\nUSING DELTA\nLOCATION 's3://company-lake/worktrack/time-entries/table';",
    ],
    [
      'clickhouse',
      "CREATE NAMED COLLECTION IF NOT EXISTS `time_entries` AS\n  url = 'https://company-lake.s3.eu-central-1.amazonaws.com/worktrack/time-entries/table/',\n  use_environment_credentials = 1;",
    ],
    [
      'snowflake',
      "CREATE ICEBERG TABLE IF NOT EXISTS time_entries\n  EXTERNAL_VOLUME = 'worktrack_company_lake_worktrack'\n  CATALOG = 'worktrack_delta'\n  BASE_LOCATION = 'time-entries/table/'\n  AUTO_REFRESH = TRUE;",
    ],
    [
      'bigquery',
      "CREATE EXTERNAL TABLE IF NOT EXISTS `worktrack.time_entries`\nWITH CONNECTION `aws-eu-central-1.worktrack`\nOPTIONS (\n  format = 'DELTA_LAKE',\n  uris = ['s3://company-lake/worktrack/time-entries/table']\n);",
    ],
  ])('is one, and names neither a run nor a column: %s', (dialect, statement) => {
    expect(active(print(dialect))).toBe(statement);
  });

  it('names a volume and a location after the lake, so that two lakes of an account do not share them', () => {
    const other = { ...AWS, url: 's3://company-lake/other' };
    expect(print('snowflake')).toContain('EXTERNAL VOLUME IF NOT EXISTS worktrack_company_lake_worktrack\n');
    expect(print('snowflake', other)).toContain("EXTERNAL_VOLUME = 'worktrack_company_lake_other'");
    expect(print('databricks', other)).toContain(
      'EXTERNAL LOCATION IF NOT EXISTS worktrack_company_lake_other\n',
    );
  });

  it('comes with a query, and the aliases of columns, in every dialect', () => {
    for (const dialect of DELTA_DIALECTS) {
      expect(print(dialect)).toMatch(
        /^-- time-entries: the Delta table, registered once\. Query it with: SELECT/m,
      );
      expect(print(dialect)).toContain('-- Column "due date" has the name due_date here.');
      expect(print(dialect)).not.toContain('Column "id"');
    }
  });

  it('quotes the path of a folder', () => {
    expect(active(print('duckdb', FOLDER))).toContain("delta_scan('/data/the lake''s/time-entries/table')");
    expect(active(print('clickhouse', FOLDER))).toContain("path = '/data/the lake\\'s/time-entries/table'");
    expect(print('clickhouse', FOLDER)).toContain('deltaLakeLocal(time_entries)');
    expect(active(print('spark', FOLDER))).toContain("'file:///data/the%20lake\\'s/time-entries/table'");
  });

  it('is refused where the engine cannot read the lake', () => {
    for (const dialect of ['athena', 'trino', 'databricks', 'snowflake', 'bigquery'] as const)
      expect(() => print(dialect, FOLDER), dialect).toThrow(
        /reads tables only from S3, and the lake is file:.*Use the dialect duckdb, spark or clickhouse/,
      );
    const other = { ...AWS, endpoint: 'https://minio.example.com:9000', forcePathStyle: true };
    for (const dialect of ['athena', 'databricks', 'snowflake', 'bigquery'] as const)
      expect(() => print(dialect, other), dialect).toThrow(
        /reads tables only from Amazon S3, and the lake is at https:\/\/minio/,
      );
    expect(active(print('clickhouse', other))).toContain(
      "url = 'https://minio.example.com:9000/company-lake/worktrack/time-entries/table/'",
    );
    expect(print('duckdb', other)).toContain("-- SCOPE 's3://company-lake/worktrack'".slice(3));
    expect(active(print('trino', other))).toContain('register_table');
  });
});
