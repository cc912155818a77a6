#!/usr/bin/env bash
# DuckDB 1.5.5 reserves sixteen times max_line_size as the buffer of read_csv. With max_line_size = 64 MiB, a file of eight bytes
# needs 1 GiB, and the query fails under a smaller memory_limit. With buffer_size = 64 MiB it succeeds.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit @duckdb/node-api@1.5.5-r.5
cat >try.mjs <<'JS'
import { writeFileSync } from 'node:fs';
import { DuckDBInstance } from '@duckdb/node-api';
const instance = await DuckDBInstance.create(':memory:', { memory_limit: '512MB' });
const connection = await instance.connect();
const read = async (sql) => (await connection.runAndReadAll(sql)).getRowsJson().flat().join(' ');
console.log('DuckDB', await read('SELECT version()'), 'with memory_limit 512MB and a file of 8 bytes');
writeFileSync('small.csv', 'a,b\n1,x\n');
const query = (options) =>
  read(`SELECT * FROM read_csv('small.csv', auto_detect = false, header = true, ${options}, columns = {a: 'VARCHAR', b: 'VARCHAR'})`);
const alone = await query('max_line_size = 67108864').catch((error) => error.message.split('\n')[0]);
const withBuffer = await query('max_line_size = 67108864, buffer_size = 67108864');
console.log(`max_line_size: ${alone}`);
console.log(`max_line_size and buffer_size: ${withBuffer}`);
if (!alone.includes('could not allocate block of size 1.0 GiB') || withBuffer !== '1 x') process.exitCode = 1;
JS
node try.mjs
