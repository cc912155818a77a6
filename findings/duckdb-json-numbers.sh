#!/usr/bin/env bash
# DuckDB 1.5.5 reads each number with a fraction in a JSON file as a double, also if the column is declared as DECIMAL, VARCHAR
# or JSON: digits beyond the seventeenth change, and zeros at the end are lost, without an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit @duckdb/node-api@1.5.5-r.5
cat >try.mjs <<'JS'
import { writeFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
const connection = await (await DuckDBInstance.create(':memory:')).connect();
const values = async (sql) => (await connection.runAndReadAll(sql)).getRowsJson().flat().join(' ');
console.log('DuckDB', await values('SELECT version()'));
writeFileSync('amounts.json', '{"amount":12.50}\n{"amount":12345678901234567890.125}\n');
const expected = {
  VARCHAR: '12.5 1.2345678901234567e+19',
  JSON: '12.5 12345678901234567000.0',
  'DECIMAL(38, 3)': '12.500 12345678901234567741.440',
};
for (const [type, seen] of Object.entries(expected)) {
  const found = await values(`SELECT amount FROM read_json('amounts.json', columns = {amount: '${type}'})`);
  console.log(`${type}: ${found}   (the file has 12.50 12345678901234567890.125)`);
  if (found !== seen) process.exitCode = 1;
}
JS
node try.mjs
