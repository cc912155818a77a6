import type { ExportResult } from '../../core/contract.js';
import type { WriteBackResult } from '../../core/write-back-contract.js';
import { countsText, snapshotUrl } from '../report.js';
import { counted, table } from '../text.js';

/** A table of what an export published. */
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
 * Commands to paste that show what is in the lake. Objects are plain files here.
 *
 * @param lakeFolder the folder that the lake's URL stands for
 */
export function lookCommands({ runs }: ExportResult, lakeFolder: string): string[] {
  const entries = runs.find((run) => run.resource === 'time-entries') ?? runs[0];
  const folder = entries === undefined ? null : snapshotUrl(lakeFolder, entries);
  if (entries === undefined || folder === null) return [];
  const csv = `${folder}*.csv.gz`;
  return [
    'The state after the last run, one folder that is complete by itself:',
    `  zcat ${shell(csv)} | head -5`,
    'What the last run found new or changed:',
    `  zcat ${shell(`${folder.replace('/snapshots/', '/changes/')}*.csv.gz`)} | head -5`,
    'Its manifest, with counts and hashes, and the pointer that was swapped last:',
    `  cat ${shell(`${folder}_datapackage.json`)}`,
    `  cat ${shell(`${lakeFolder}/${entries.resource}/latest.json`)}`,
    'In DuckDB:',
    `  SELECT * FROM read_csv('${csv.replaceAll("'", "''")}', header = true, all_varchar = true, allow_quoted_nulls = false) LIMIT 10;`,
  ];
}

/** A command that shows the receipts of a batch. */
export function receiptCommands({ results }: WriteBackResult, lakeFolder: string): string[] {
  if (results === null) return [];
  return ['The receipts of what was written back:', `  cat ${shell(`${lakeFolder}/${results}`)}`];
}

/** Quotes what a shell would take apart, and leaves `*` outside the quotes. */
function shell(path: string): string {
  if (/^[\w./=*-]+$/.test(path)) return path;
  return path
    .split('*')
    .map((part) => (part === '' ? '' : `'${part.replaceAll("'", "'\\''")}'`))
    .join('*');
}
