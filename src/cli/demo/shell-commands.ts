import { shellWord } from '../shared/options.js';
import { table } from '../shared/text.js';

/** What the demo created, with its use. @param folder the folder of the demo, relative to the working directory */
export function createdLines(folder: string): string[] {
  const at = (name: string): string => shellWord(`${folder}/${name}`);
  const files = [
    ['report.html', 'the runs, and these hours as charts'],
    ['hours.sql', `the query: duckdb < ${at('hours.sql')}`],
    ['s3/demo-lake', 'the lake: snapshots, change logs, receipts'],
    ['worktrack.yaml', 'the configuration'],
  ] as const;
  return ['The demo created:', ...table(files.map(([name, what]) => [`   ${at(name)}`, what]))];
}
