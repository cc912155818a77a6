import { z } from 'zod';
import type { TableSettings } from '../core/settings.js';
import { choice, parsedString } from './scalars.js';
import { section } from './section.js';
import { invalidValue } from './values.js';

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
    .describe(
      '`delta` also keeps each resource as a Delta table at `<lake>/<resource>/table/`. Needs the packages `hyparquet-writer` and `hyparquet`.',
    ),
  types: z
    .record(z.string(), typesOfResource, {
      error: ({ input }) => invalidValue(input, 'a map from resources to maps from columns to types'),
    })
    .prefault({})
    .describe(
      'Types of columns of tables, by resource and column: `boolean`, `long`, `double`, `decimal(p,s)`, `date`, `timestamp` or `string`. Default: the narrowest type that holds all values exactly.',
    ),
  badValues: choice(['stop', 'clear'])
    .prefault('stop')
    .describe(
      'What to do with a value that does not fit the type in `types`: `stop` fails the run before it publishes, `clear` writes NULL to the table, with a warning.',
    ),
}).transform(({ format, types, badValues }): TableSettings | null =>
  format === 'none' ? null : { format, types, badValues },
);

/** @returns the type in the form of a Delta schema */
function readColumnType(text: string): string {
  if (/^(boolean|long|double|date|timestamp|string)$/.test(text)) return text;
  const [, precision, scale] = /^decimal\((\d{1,2}), ?(\d{1,2})\)$/.exec(text) ?? [];
  const isValid =
    Number(precision) >= 1 && Number(precision) <= MAX_PRECISION && Number(scale) <= Number(precision);
  if (isValid) return `decimal(${Number(precision)},${Number(scale)})`;
  throw new RangeError(invalidValue(text, ALLOWED));
}
