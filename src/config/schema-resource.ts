import { z } from 'zod';
import { wrong } from './found.js';
import { NAME_PATTERN, readName, readPath } from './names.js';
import { choice, durationOr, flag, line, readable } from './scalars.js';
import { csvOverrides } from './schema-csv.js';
import { section } from './section.js';

/** What happens to rows that the service no longer has (DESIGN 3.5). */
export const deletePolicy = choice(['mark', 'drop', 'keep']);

/** The name of a resource or connection. */
export const name = readable('a name of a-z, 0-9, - and _', readName, quoteHint).meta({
  pattern: NAME_PATTERN,
});

/** The path of an endpoint below the base path. */
export const path = readable('a path such as calendar-entries', readPath);

/** `window`, in milliseconds or `null`. */
export const windowLength = durationOr('none', { unit: 'd', min: 1 });

const field = line('the name of a field');
const fields = z
  .array(field, { error: ({ input }) => wrong(input, 'a list of field names') })
  .min(1, { error: 'found an empty list; allowed: at least one field name' })
  .refine((names) => new Set(names).size === names.length, { error: 'names a field twice' });

const key = z.union([field.transform((one) => [one]), fields], {
  error: ({ input }) => wrong(input, 'the name of the field, or a list of names for a compound key'),
});

const mask = z.record(z.string(), choice(['hash', 'redact']), {
  error: ({ input }) => wrong(input, 'a map from field names to hash or redact'),
});

const columns = section({
  include: fields.optional(),
  exclude: fields.optional(),
  mask: mask.optional(),
});

/** A resource in its long form. Defaults hang on the name and the connection, so `resolve.ts` gives them. */
export const resourceMap = section({
  name,
  path: path.optional(),
  key: key.optional(),
  window: windowLength.optional(),
  windowField: field.optional(),
  updatedAt: field.optional(),
  fetchById: flag().optional(),
  badRecords: choice(['stop', 'quarantine']).optional(),
  contract: choice(['evolve', 'freeze']).optional(),
  columns: columns.optional(),
  deletes: deletePolicy.optional(),
  csv: csvOverrides.optional(),
});

/** A resource: a name, or the long form. */
export const resource = z.union([name.transform((only): ParsedResource => ({ name: only })), resourceMap], {
  error: ({ input }) => wrong(input, 'a name such as tasks, or a map with at least name'),
});

export type ParsedResource = z.output<typeof resourceMap>;

function quoteHint(value: unknown): string {
  return typeof value === 'number' || typeof value === 'boolean'
    ? `. For a name put it in quotes: "${value}".`
    : '';
}
