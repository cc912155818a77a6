#!/usr/bin/env bash
# read-excel-file 9.3.17 reads a cell that holds an error, such as #N/A of a lookup that found nothing, as null, as it reads an empty
# cell. A row that is written from the sheet lacks the value, and nothing says so.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit read-excel-file@9.3.17 exceljs@4.4.0
cat >try.mjs <<'JS'
import { readFileSync } from 'node:fs';
import ExcelJS from 'exceljs';
import { readSheet } from 'read-excel-file/node';
const version = JSON.parse(readFileSync('node_modules/read-excel-file/package.json', 'utf8')).version;
const workbook = new ExcelJS.Workbook();
workbook.addWorksheet('Sheet1').addRows([
  ['what', 'value'],
  ['a number', 12],
  ['a lookup that found nothing', { formula: 'VLOOKUP("x",A1:B1,2,FALSE)', result: { error: '#N/A' } }],
  ['a division by zero', { error: '#DIV/0!' }],
  ['an empty cell', null],
]);
await workbook.xlsx.writeFile('book.xlsx');
const rows = await readSheet('book.xlsx');
console.log('read-excel-file', version);
for (const [what, value] of rows.slice(1)) console.log(`${what}: ${JSON.stringify(value)}`);
if (JSON.stringify(rows.slice(1).map(([, value]) => value)) !== '[12,null,null,null]') process.exitCode = 1;
JS
node try.mjs
