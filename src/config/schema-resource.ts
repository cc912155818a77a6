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
  include: fields.optional().describe('Only these fields are mirrored; the key always is. Default: all.'),
  exclude: fields.optional().describe('These fields are not mirrored.'),
  mask: mask
    .optional()
    .describe(
      'Fields whose values are replaced: by their SHA-256, the same for the same value, or by `[redacted]`. A field of the key can be hashed only.',
    ),
});

/** A resource in its long form. Defaults hang on the name and the connection, so `resolve.ts` gives them. */
export const resourceMap = section({
  name: name.describe(
    'Folder in the lake and name in every command. A resource that is no more than its name may be written as that name alone.',
  ),
  path: path.optional().describe('Endpoint of the list, below `/api/public/v2/`. Default: the name.'),
  key: key
    .optional()
    .describe(
      'Field that tells records apart, or a list of them. Default: `id`; `[source, sourceKey]` for calendar-entries.',
    ),
  window: windowLength
    .optional()
    .describe(
      'How far back the service lists the resource. Rows that leave the window stay. Default: `90d` for time-entries and calendar-entries, else `none`.',
    ),
  windowField: field
    .optional()
    .describe(
      'Date field that decides where in the window a record is. Where it is named, deletes can be concluded inside of the window.',
    ),
  updatedAt: field
    .optional()
    .describe(
      'Field with the time of the last change: of two versions of a record the later one by it wins. Default: the one that was read later.',
    ),
  fetchById: flag()
    .optional()
    .describe(
      'The service answers `GET <path>/<id>`: one 404 then proves a delete. Default: `true` for projects, else `false`.',
    ),
  badRecords: choice(['stop', 'quarantine'])
    .optional()
    .describe(
      'A record without its key stops the run, or is set aside below `_quarantine/` with a warning. Default: `stop`.',
    ),
  contract: choice(['evolve', 'freeze'])
    .optional()
    .describe('New columns and types are taken in, or stop the run before it publishes. Default: `evolve`.'),
  columns: columns.optional().describe('Which fields are mirrored, and how.'),
  deletes: deletePolicy.optional().describe("Default: the connection's."),
  csv: csvOverrides.optional().describe("Keys of the connection's `csv`, for this resource alone."),
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
