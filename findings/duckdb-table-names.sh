#!/usr/bin/env bash
# getTableNames of @duckdb/node-api 1.5.5-r.5 returns no table for a join with USING. The same join with ON gives both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit @duckdb/node-api@1.5.5-r.5
cat >try.mjs <<'JS'
import { DuckDBInstance } from '@duckdb/node-api';
const connection = await (await DuckDBInstance.create(':memory:')).connect();
await connection.run('CREATE TABLE tasks (id VARCHAR); CREATE TABLE projects (id VARCHAR)');
const names = (sql) => [...connection.getTableNames(sql, false)].sort().join(' ') || 'none';
const on = names('SELECT * FROM tasks t JOIN projects p ON t.id = p.id');
const using = names('SELECT * FROM tasks JOIN projects USING (id)');
console.log(`@duckdb/node-api 1.5.5-r.5, JOIN ON: ${on}; JOIN USING: ${using}`);
if (on !== 'projects tasks' || using !== 'none') process.exitCode = 1;
JS
node try.mjs
