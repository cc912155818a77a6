import { z } from 'zod';
import { byteSize, choice, flag, formed, orNull, parsedString, renamed, section } from './building-blocks.js';
import { invalidValue } from './values.js';

const KiB = 1024;
const GiB = KiB ** 3;

/** Keys of `csv` in a connection and in a resource. */
const csv = {
  compression: choice(['gzip', 'none']).describe(
    'Compression of the parts: `.csv.gz` with `gzip`, `.csv` with `none`.',
  ),
  delimiter: parsedString('one character such as "," or "\\t"', readDelimiter).describe(
    'Separator between cells: an ASCII character other than a letter, digit, quote, hyphen, colon or line break.',
  ),
  nested: choice(['json', 'flatten']).describe(
    'Objects within a record: `json` writes JSON text, `flatten` a column for each field. Lists are always JSON text.',
  ),
  separator: formed(
    'one to eight characters such as ".", without quotes or line breaks',
    /^[^"\r\n\0]{1,8}$/,
    'one to eight characters such as "."',
  ).describe('Separator in the names of flattened columns: one to eight characters.'),
  lineBreaks: choice(['keep', 'escape']).describe(
    '`escape` writes a line feed, carriage return or backslash as two characters, for engines that cannot read line breaks in values.',
  ),
  escapeFormulas: flag().describe(
    "Puts a `'` before values that a spreadsheet would read as a formula, which changes the values.",
  ),
  // At most 4 GiB: an unchanged part is created by one server-side copy, which S3 limits to 5 GiB.
  partSize: byteSize(KiB, 4 * GiB).describe(
    'Target size of a part before compression. Default: `64MiB`, or `16MiB` with `tables.format: delta`.',
  ),
};

/** A connection's `csv`, with defaults (docs/explanation/guarantees.md#values, docs/explanation/guarantees.md#csv). */
export const csvSection = renamed(
  section({
    compression: csv.compression.prefault('gzip'),
    delimiter: csv.delimiter.prefault(','),
    nested: csv.nested.prefault('json'),
    separator: csv.separator.prefault('.'),
    lineBreaks: csv.lineBreaks.prefault('keep'),
    escapeFormulas: csv.escapeFormulas.prefault(false),
    partSize: csv.partSize.exactOptional(),
  }),
  { partSize: 'partBytes' },
);

/** Settings of `csv`, before the size of a part is known. */
export type CsvKeys = z.output<typeof csvSection>;

/** A resource's `csv`; its keys override those of the connection. */
export const csvOverrides = renamed(section(csv).exactPartial(), { partSize: 'partBytes' });

/** One ASCII character, because parts are processed as bytes. A letter or digit would require quotes around every value. */
function readDelimiter(text: string): string {
  // Run ids and times contain `-` and `:`. They must not need quotes, because rows are parsed by fixed positions.
  if (/^[\t -~]$/.test(text) && !/["0-9A-Za-z:-]/.test(text)) return text;
  const hint = text === '\\t' ? '. Write a tab as "\\t" in double quotes.' : '';
  throw new RangeError(
    invalidValue(
      text,
      'one ASCII character that is not a letter, digit, quote, hyphen, colon or line break, such as "," or "\\t"',
    ) + hint,
  );
}

const ALLOWED = 'boolean, long, double, decimal(p,s), date, timestamp or string';
const MAX_PRECISION = 38;

const columnType = parsedString(ALLOWED, readColumnType, () => '', 'a type of Delta');

const typesOfResource = z.record(z.string(), columnType, {
  error: ({ input }) =>
    invalidValue(input, 'a map from columns to types such as { budget: "decimal(18,2)" }'),
});

/** A connection's `tables` (docs/explanation/delta-tables.md). */
export const tables = section({
  format: choice(['none', 'delta'])
    .prefault('none')
    .describe('`delta` also keeps each resource as a [Delta table](../how-to/delta-tables.md).'),
  types: z
    .record(z.string(), typesOfResource, {
      error: ({ input }) => invalidValue(input, 'a map from resources to maps from columns to types'),
    })
    .prefault({})
    .describe(
      'Types of table columns, by resource and column: `boolean`, `long`, `double`, `decimal(p,s)`, `date`, `timestamp` or `string`. Default: the narrowest type that holds all values exactly.',
    ),
  badValues: choice(['stop', 'clear'])
    .prefault('stop')
    .describe(
      'A value that does not fit its type in `types` stops the run (`stop`), or is NULL in the table, with a warning (`clear`).',
    ),
  codec: choice(['zstd', 'snappy', 'gzip'])
    .prefault('zstd')
    .describe('Compression of new data files. A change rewrites no file.'),
  tempFolder: orNull(formed('the absolute path of a folder, such as /var/tmp', /^\/\P{Cc}*$/u)).describe(
    'Folder for the temporary files of conversions, which hold values of records. It must exist. Default: that of the system (`TMPDIR`).',
  ),
}).transform(({ format, ...found }) => (format === 'none' ? null : { format, ...found }));

/** @returns the type in the form of a Delta schema */
function readColumnType(text: string): string {
  if (/^(boolean|long|double|date|timestamp|string)$/.test(text)) return text;
  const [, precision, scale] = /^decimal\((\d{1,2}), ?(\d{1,2})\)$/.exec(text) ?? [];
  const isValid =
    Number(precision) >= 1 && Number(precision) <= MAX_PRECISION && Number(scale) <= Number(precision);
  if (isValid) return `decimal(${Number(precision)},${Number(scale)})`;
  throw new RangeError(invalidValue(text, ALLOWED));
}
