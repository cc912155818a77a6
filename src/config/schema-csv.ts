import { wrong } from './found.js';
import { byteSize, choice, flag, readable } from './scalars.js';
import { section } from './section.js';

const KiB = 1024;
const GiB = KiB ** 3;

const compression = choice(['gzip', 'none']);
const delimiter = readable('one character such as "," or "\\t"', readDelimiter);
const nested = choice(['json', 'flatten']);
const separator = readable('one to eight characters such as "."', readSeparator);
const lineBreaks = choice(['keep', 'escape']);
const escapeFormulas = flag();
// Up to 4 GiB: an unchanged part is carried over by one server-side copy, which S3 bounds at 5 GiB.
const partSize = byteSize(KiB, 4 * GiB);

/** What each key means, in a connection and in a resource. */
const CSV = {
  compression: 'How parts are written. With `none` they are called `.csv`.',
  delimiter:
    'Between cells: one ASCII character that is no letter, digit, quote, hyphen, colon or line break.',
  nested:
    'Objects within a record: their JSON text, or a column for each of their fields. Lists are JSON text in any case.',
  separator: 'Between the levels of the name of a flattened column: one to eight characters.',
  lineBreaks:
    '`escape` writes line feed, carriage return and backslash as two characters each, for engines that cannot read line breaks inside values.',
  escapeFormulas:
    "Puts a `'` before what a spreadsheet would take for a formula. It changes values: a lake wants the true ones.",
  partSize: 'Size that a part aims at, before compression.',
};

/** A connection's `csv`, complete with defaults (DESIGN 3.8 and 3.10). */
export const csvSection = section({
  compression: compression.prefault('gzip').describe(CSV.compression),
  delimiter: delimiter.prefault(',').describe(CSV.delimiter),
  nested: nested.prefault('json').describe(CSV.nested),
  separator: separator.prefault('.').describe(CSV.separator),
  lineBreaks: lineBreaks.prefault('keep').describe(CSV.lineBreaks),
  escapeFormulas: escapeFormulas.prefault(false).describe(CSV.escapeFormulas),
  partSize: partSize.prefault('64MiB').describe(CSV.partSize),
});

/** A resource's `csv`: what it gives stands in for the connection's. */
export const csvOverrides = section({
  compression: compression.optional().describe(CSV.compression),
  delimiter: delimiter.optional().describe(CSV.delimiter),
  nested: nested.optional().describe(CSV.nested),
  separator: separator.optional().describe(CSV.separator),
  lineBreaks: lineBreaks.optional().describe(CSV.lineBreaks),
  escapeFormulas: escapeFormulas.optional().describe(CSV.escapeFormulas),
  partSize: partSize.optional().describe(CSV.partSize),
});

/** One ASCII character: the data plane works on bytes, and a letter or digit would force quotes on every value. */
function readDelimiter(text: string): string {
  // Run ids and times are full of `-` and `:`, and must not need quotes: rows are told apart by where these stand.
  if (/^[\t -~]$/.test(text) && !/["0-9A-Za-z:-]/.test(text)) return text;
  const hint = text === '\\t' ? '. For a tab write "\\t" in double quotes.' : '';
  throw new RangeError(
    wrong(
      text,
      'one ASCII character that is no letter, digit, quote, hyphen, colon or line break, such as "," or "\\t"',
    ) + hint,
  );
}

function readSeparator(text: string): string {
  if (/^[^"\r\n\0]{1,8}$/.test(text)) return text;
  throw new RangeError(wrong(text, 'one to eight characters such as ".", without quotes and line breaks'));
}
