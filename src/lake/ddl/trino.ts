import { athena, type FileTable, hiveText, trinoCast, trinoFailure } from './athena.js';
import type { Engine, Statement } from './engine.js';
import { failingCase } from './engine.js';
import { sqlName, sqlString } from './quote.js';

/**
 * Statements for Trino with a Hive catalog. The catalog needs `hive.recursive-directories=true`, because the change logs of
 * all runs are below one folder, and permission to create tables.
 */
export const trino: Engine = {
  ...athena,
  splitsAtLineBreaks: "Trino's CSV reader",
  cast: (text, kind) => trinoCast(text, kind, 6),
  orFail: (exact) => failingCase(exact, trinoFailure(exact, 6)),
  text: (source, columns) => hiveText(source, columns, { engine: trino, table: trinoTable }),
};

function trinoTable({ name, columns, url, delimiter }: FileTable, about: readonly string[]): Statement[] {
  // Unlike in Athena, the escape character cannot be a control character, and the default, a backslash, would be lost.
  const options = [
    `external_location = ${sqlString(url)}`,
    ...(delimiter === null
      ? ["format = 'TEXTFILE'", "textfile_field_separator = U&'\\0001'"]
      : [
          "format = 'CSV'",
          `csv_separator = ${sqlString(delimiter)}`,
          `csv_quote = '"'`,
          "csv_escape = U&'\\0001'",
          'skip_header_line_count = 1',
        ]),
  ];
  return [
    {
      kind: 'define',
      about: ['Drops only the table definition; the files are kept.'],
      sql: `DROP TABLE IF EXISTS ${sqlName(name)}`,
    },
    {
      kind: 'define',
      about,
      sql: `CREATE TABLE ${sqlName(name)} (\n${columns.map((one) => `  ${sqlName(one)} varchar`).join(',\n')}\n)\nWITH (\n  ${options.join(',\n  ')}\n)`,
    },
  ];
}
