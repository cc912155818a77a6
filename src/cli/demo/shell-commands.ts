import type { ExportResult } from '../../core/contract/index.js';
import type { WriteBackResult } from '../../core/contract/write-back.js';
import { countsText, snapshotUrl } from '../runs/result-lines.js';
import { counted, table } from '../shared/text.js';

/** A table of the rows and counts of an export. */
export function exportTable({ runs }: ExportResult): string[] {
  return table(
    runs.map((run) => [
      `  ${run.resource}`,
      run.rows === null ? run.outcome : counted(run.rows, 'row'),
      countsText(run),
    ]),
    [1],
  );
}

/**
 * Shell commands that show the files in the lake. In the demo, objects are plain files.
 *
 * @param lakeFolder local folder of the lake
 */
export function lakeCommands({ runs }: ExportResult, lakeFolder: string): string[] {
  const entries = runs.find((run) => run.resource === 'time-entries') ?? runs[0];
  const folder = entries === undefined ? null : snapshotUrl(lakeFolder, entries);
  if (entries === undefined || folder === null) return [];
  const csv = `${folder}*.csv.gz`;
  return [
    'The current snapshot (each folder is complete):',
    `  zcat ${shell(csv)} | head -5`,
    'The change log of the last run:',
    `  zcat ${shell(`${folder.replace('/snapshots/', '/changes/')}*.csv.gz`)} | head -5`,
    'The manifest with counts and hashes, and the pointer to the current snapshot:',
    `  cat ${shell(`${folder}_datapackage.json`)}`,
    `  cat ${shell(`${lakeFolder}/${entries.resource}/latest.json`)}`,
    'In DuckDB:',
    `  SELECT * FROM read_csv('${csv.replaceAll("'", "''")}', header = true, all_varchar = true, allow_quoted_nulls = false) LIMIT 10;`,
  ];
}

/** A shell command that shows the receipts of a batch. */
export function receiptCommands({ results }: WriteBackResult, lakeFolder: string): string[] {
  if (results === null) return [];
  return ['The receipts of the write-back:', `  cat ${shell(`${lakeFolder}/${results}`)}`];
}

/** Quotes a path for the shell, and leaves `*` outside the quotes. */
function shell(path: string): string {
  if (/^[\w./=*-]+$/.test(path)) return path;
  return path
    .split('*')
    .map((part) => (part === '' ? '' : `'${part.replaceAll("'", "'\\''")}'`))
    .join('*');
}
