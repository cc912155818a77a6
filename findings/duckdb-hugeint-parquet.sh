#!/usr/bin/env bash
# DuckDB 1.5.5 writes a HUGEINT column to Parquet as DOUBLE, without an error. The type of sum(BIGINT) is HUGEINT, so the sum of
# integers beyond 2^53 changes on its way into a file.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit @duckdb/node-api@1.5.5-r.5
cat >try.mjs <<'JS'
import { DuckDBInstance } from '@duckdb/node-api';
const connection = await (await DuckDBInstance.create(':memory:')).connect();
const values = async (sql) => (await connection.runAndReadAll(sql)).getRowsJson().flat().join(' ');
console.log('DuckDB', await values('SELECT version()'));
const query = 'SELECT sum(seconds) AS total FROM (VALUES (9007199254740993::BIGINT)) AS rows (seconds)';
const before = await values(`SELECT typeof(total), total FROM (${query})`);
await connection.run(`COPY (${query}) TO 'total.parquet'`);
const after = await values(`SELECT typeof(total), total FROM 'total.parquet'`);
console.log(`in the query:   ${before}`);
console.log(`in the Parquet: ${after}`);
if (before !== 'HUGEINT 9007199254740993' || after !== 'DOUBLE 9007199254740992') process.exitCode = 1;
JS
node try.mjs
