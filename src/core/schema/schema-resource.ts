import { z } from 'zod';
import { DAY_MS } from '../duration.js';
import {
  choice,
  durationOr,
  fieldName,
  fieldNames,
  flag,
  hasControls,
  issueAt,
  parsedString,
  section,
  withoutPrototype,
} from './building-blocks.js';
import { NAME_PATTERN, readName, readPath } from './readers.js';
import { checks } from './schema-checks.js';
import { csvOverrides } from './schema-output.js';
import { invalidValue } from './values.js';

/** What happens to rows that the service deleted (docs/explanation/guarantees.md#deletes). */
export const deletePolicy = choice(['mark', 'drop', 'keep']);

/** The name of a resource or connection. */
const name = parsedString('a name of a-z, 0-9, - and _', readName, quoteHint).meta({
  pattern: NAME_PATTERN,
});

/** The path of an endpoint below the base path. */
export const path = parsedString('a path such as calendar-entries', readPath);

/** `window`, in milliseconds or `null`. */
const windowLength = durationOr('none', { unit: 'd', min: 1 });

const fields = fieldNames.refine((names) => new Set(names).size === names.length, {
  error: 'has a field name twice',
});

const key = z.union([fieldName.transform((one) => [one]), fields], {
  error: ({ input }) => invalidValue(input, 'a field name, or a list of field names for a compound key'),
});

const mask = z.record(z.string(), choice(['hash', 'redact']), {
  error: ({ input }) => invalidValue(input, 'a map from field names to hash or redact'),
});

const scalarText = z
  .union([z.string(), z.number(), z.boolean()], {
    error: ({ input }) => invalidValue(input, 'a text, a number, true or false'),
  })
  .meta({ title: 'text, number, true or false' });

const deleted = section({
  field: fieldName.describe(
    'Field that says whether the record is deleted, such as `deletedAt` or `status`.',
  ),
  values: z
    .array(scalarText, { error: ({ input }) => invalidValue(input, 'a list of values such as [deleted]') })
    .min(1, { error: 'found an empty list; allowed: at least one value' })
    .transform((found) => found.map(String))
    .optional()
    .describe(
      'Its values that mean deleted. Default: any value except null, `false`, 0, an empty one, and a time before 1971 or in the future.',
    ),
}).transform(({ field, values }) => ({ field, values: values ?? null }));

/** Parameters that the reading of a list sets itself. */
const OWN_PARAMS = ['limit', 'cursor', 'updatedsince'];
const SECRET_PARAM = /key$|token|secret|passw|signature|credential|^auth/i;

const params = z
  .record(z.string(), scalarText, {
    error: ({ input }) => invalidValue(input, 'a map of parameters such as { include_archived: "true" }'),
  })
  .superRefine((found, context) => {
    const add = (name: string, problem: string) =>
      context.addIssue(issueAt(`found the parameter ${JSON.stringify(name)}, ${problem}`, name));
    for (const [name, value] of Object.entries(found)) {
      const own = OWN_PARAMS.includes(name.toLowerCase().replace(/[^a-z]/g, ''));
      if (own) add(name, 'which each request sets itself; allowed: other parameters of the list');
      else if (SECRET_PARAM.test(name))
        add(name, 'which seems to be a secret, and URLs are in logs; allowed: `http.headers` for secrets');
      else if (name === '' || hasControls(name + value) || !`${name}${value}`.isWellFormed())
        add(name, 'which a URL cannot hold; allowed: text without control characters');
    }
  })
  .transform((found) =>
    withoutPrototype(Object.fromEntries(Object.entries(found).map(([name, value]) => [name, String(value)]))),
  );

const columns = section({
  include: fields.describe('Mirror only these fields and the key. Default: all fields.'),
  exclude: fields.describe('Fields that are not mirrored.'),
  mask: mask.describe(
    'Fields whose values are replaced: `hash` by their HMAC-SHA-256 under `masking.secret`, `redact` by `[redacted]`. A key field allows only `hash`.',
  ),
}).exactPartial();

/** Keys of a resource. Some defaults depend on its name, and others are settings of the connection. */
const resourceKeys = section({
  path: path.describe('Path of the list under `/api/public/v2/`. Default: the name.'),
  params: params.describe(
    'Query parameters of the list, such as `{ include_archived: "true" }`. With other ones, it is another list. No secrets.',
  ),
  key: key.describe(
    'Field or fields that identify a record. Default: `[source, sourceKey]` for calendar-entries, otherwise `id`.',
  ),
  window: windowLength.describe(
    'How far back the service lists records. Rows that leave it stay. Default: `90d` for time-entries and calendar-entries, otherwise `none`.',
  ),
  windowField: fieldName.describe(
    'Date field (ISO 8601 or an epoch number) that places a record in the window. Deletes inside the window are detected only with it.',
  ),
  updatedAt: fieldName.describe(
    'Field with the time of the last change: the later version of a record wins. Default: the version read later wins.',
  ),
  fetchById: flag().describe(
    'Whether the service supports `GET <path>/<id>`, which then [confirms deletes](../explanation/guarantees.md#deletes). Default: `true` for projects, otherwise `false`.',
  ),
  badRecords: choice(['stop', 'quarantine']).describe(
    'A record without its key stops the run (`stop`), or is written to `_quarantine/` with a warning. Default: `stop`.',
  ),
  contract: choice(['evolve', 'freeze']).describe(
    'New columns and types: `evolve` accepts them, `freeze` stops the run. Default: `evolve`.',
  ),
  columns: columns.describe('Selection and masking of fields.'),
  deleted: deleted.describe(
    'How a record says that it is deleted, in lists and by id: [tombstones](../explanation/guarantees.md#records-that-say-that-they-are-deleted).',
  ),
  deletes: deletePolicy.describe("Overrides the connection's `deletes`."),
  csv: csvOverrides.describe("Overrides keys of the connection's `csv`."),
  checks: checks.describe('[Checks](../how-to/checks.md) before a run is published. Default: none.'),
}).exactPartial();

const resourceMap = section({
  name: name.describe('Name in commands, and folder in the lake. Without other keys, write the name alone.'),
  ...resourceKeys.shape,
});

type ResourceKeys = z.output<typeof resourceMap>;

/** The resources in the API, mirrored if the file names none. */
export const DEFAULT_RESOURCES = ['projects', 'tasks', 'time-entries', 'calendar-entries'];

const USUAL = { key: ['id'], windowMs: null as number | null, fetchById: false };

/** From the API: windows of 90 days, the compound key of calendar entries, and fetch by id for projects only. */
const BY_NAME: ReadonlyMap<string, typeof USUAL> = new Map([
  ['projects', { ...USUAL, fetchById: true }],
  ['time-entries', { ...USUAL, windowMs: 90 * DAY_MS }],
  ['calendar-entries', { ...USUAL, windowMs: 90 * DAY_MS, key: ['source', 'sourceKey'] }],
]);

/** Which fields are mirrored, and how. */
export interface ColumnSettings {
  /** Only these columns and the key; `null`: all. */
  readonly include: readonly string[] | null;
  readonly exclude: readonly string[];
  readonly mask: Readonly<Record<string, 'hash' | 'redact'>>;
  /** Fingerprint of the secret that `hash` is keyed with; left out for plain SHA-256. A run fixes it when it begins. */
  readonly maskedWith?: string | undefined;
}

/** A resource: a name, or the long form. */
export const resource = z
  .union([name.transform((only): ResourceKeys => ({ name: only })), resourceMap], {
    error: ({ input }) => invalidValue(input, 'a name such as tasks, or a map with at least name'),
  })
  .transform(({ path: at, key: fields, window, updatedAt, fetchById, columns: selected, ...found }) => {
    const standard = BY_NAME.get(found.name) ?? USUAL;
    const columns: ColumnSettings = {
      include: selected?.include ?? null,
      exclude: selected?.exclude ?? [],
      mask: withoutPrototype(selected?.mask ?? {}),
    };
    return {
      windowField: null,
      deleted: null,
      params: {} as Readonly<Record<string, string>>,
      badRecords: 'stop' as const,
      contract: 'evolve' as const,
      checks: [],
      ...found,
      path: at ?? found.name,
      key: fields ?? standard.key,
      // `null` stands for `none` in the file.
      windowMs: window === undefined ? standard.windowMs : window,
      updatedAtField: updatedAt ?? null,
      fetchById: fetchById ?? standard.fetchById,
      columns,
    };
  });

/** A resource with its own keys; the others are settings of its connection. */
export type OwnResource = z.output<typeof resource>;

function quoteHint(value: unknown): string {
  return typeof value === 'number' || typeof value === 'boolean'
    ? `. Put the name in quotes: "${value}".`
    : '';
}
