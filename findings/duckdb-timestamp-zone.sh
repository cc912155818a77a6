#!/usr/bin/env bash
# DuckDB 1.5.5 ignores the zone when it casts the text of a time to TIMESTAMP: 02:00 at +05:00 becomes 02:00 instead of 21:00 of the
# day before. Through TIMESTAMPTZ it is converted.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit @duckdb/node-api@1.5.5-r.5
cat >try.mjs <<'JS'
import { DuckDBInstance } from '@duckdb/node-api';
const connection = await (await DuckDBInstance.create(':memory:')).connect();
const value = async (sql) => (await connection.runAndReadAll(sql)).getRowsJson()[0][0];
console.log('DuckDB', await value('SELECT version()'));
const text = "'2026-11-21T02:00:00+05:00'";
const direct = await value(`SELECT CAST(${text} AS TIMESTAMP)::VARCHAR`);
const zoned = await value(`SELECT make_timestamp(epoch_us(CAST(${text} AS TIMESTAMPTZ)))::VARCHAR`);
console.log(`${text} AS TIMESTAMP: ${direct}; through TIMESTAMPTZ: ${zoned}`);
if (direct !== '2026-11-21 02:00:00' || zoned !== '2026-11-20 21:00:00') process.exitCode = 1;
JS
node try.mjs
