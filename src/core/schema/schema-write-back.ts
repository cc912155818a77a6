import { z } from 'zod';
import { MINUTE_MS } from '../duration.js';
import {
  anyFieldNames,
  choice,
  duration,
  durationOr,
  fieldName,
  flag,
  parsedString,
  renamed,
  section,
  singleLine,
  withoutPrototype,
} from './building-blocks.js';
import { readIdField } from './readers.js';
import type { CsvKeys } from './schema-output.js';
import { type OwnResource, path } from './schema-resource.js';
import { invalidValue } from './values.js';

const WRITE_PATH = 'Path of the endpoint under `/api/public/v2/`. Default: that of the resource.';

/** Headers with a separate meaning, and those that this package or the HTTP client sets. */
const RESERVED =
  /^(?:authorization|proxy-.*|x-api-key|cookie|host|origin|referer|content-.*|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer|date|via|user-agent|accept(?:-.*)?|cache-control|if-.*|range)$/i;

const keyHeader = parsedString('the name of an HTTP header', (text) => {
  if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(text) && !RESERVED.test(text)) return text;
  throw new RangeError(
    invalidValue(text, 'the name of an HTTP header such as X-Request-Id, and none that has another meaning'),
  );
});

/** The forms of an idempotency key. */
const KEY_FORMS = ['uuid-v5', 'uuid-v4', 'hex'] as const;

const words = z.array(singleLine('a word'), {
  error: ({ input }) => invalidValue(input, 'a list of words'),
});

/** A map from names to texts. */
function texts(what: string, allowed: string) {
  return z
    .record(z.string(), singleLine(what), { error: ({ input }) => invalidValue(input, allowed) })
    .transform((found) => withoutPrototype(found));
}

/** `writeBack.<resource>.input`. */
const input = renamed(
  section({
    keyColumn: fieldName.exactOptional().describe('As `--key-column`.'),
    sheet: singleLine('the name of a sheet').exactOptional().describe('As `--sheet`.'),
    delimiter: choice([',', ';', '\t', '|', 'comma', 'semicolon', 'tab', 'pipe'])
      .exactOptional()
      .describe('As `--delimiter`.'),
    encoding: singleLine('the name of an encoding').exactOptional().describe('As `--encoding`.'),
    decimalComma: flag().exactOptional().describe('As `--decimal-comma`.'),
    dateFormats: z
      .array(singleLine('a date format'), {
        error: ({ input: found }) => invalidValue(found, 'a list of date formats'),
      })
      .exactOptional()
      .describe('As `--date-format`, a list.'),
    timezone: singleLine('a time zone').exactOptional().describe('As `--timezone`.'),
    map: texts('the name of a field', 'a map from names in the header to fields')
      .exactOptional()
      .describe('As `--map`, a map from names in the header to fields.'),
    true: words.exactOptional().describe('As `--true`, a list.'),
    false: words.exactOptional().describe('As `--false`, a list.'),
    units: texts('a unit such as h', 'a map from fields to units such as h')
      .exactOptional()
      .describe('As `--unit`, a map from fields to units.'),
    dropColumns: anyFieldNames.exactOptional().describe('As `--drop-column`, a list.'),
    textColumns: anyFieldNames.exactOptional().describe('As `--text-column`, a list.'),
  }),
  { true: 'trueWords', false: 'falseWords' },
);

/** Keys of every resource that rows are written to. */
const write = {
  confirmFor: durationOr('never', { unit: 'h', min: MINUTE_MS })
    .prefault('1d')
    .describe(
      'How long a batch [looks for its written rows](../how-to/written-rows.md#confirmations) in a mirrored resource. `never`: not at all.',
    ),
  path: path.exactOptional().describe(WRITE_PATH),
  idField: parsedString('the name of a field or a JSON pointer such as /data/id', readIdField)
    .exactOptional()
    .describe(
      "Field of the response with the record's id, or a JSON pointer to it. Default: the resource's key, otherwise `id`.",
    ),
  success: choice(['record', 'empty'])
    .prefault('record')
    .describe(
      'What shows that a row was written: a record with its id, or a 201 with `Location` (`record`); an empty response as well (`empty`).',
    ),
  idempotencyKey: section({
    form: choice(KEY_FORMS)
      .prefault('uuid-v5')
      .describe(
        'Form of the keys: a UUID of version 5 or 4, or 32 hexadecimal digits. A row has the same key each time.',
      ),
    header: keyHeader.prefault('Idempotency-Key').describe('Header of the request that has the key.'),
  }).prefault({}),
  repeat: choice(['always', 'never'])
    .prefault('always')
    .describe(
      'Whether a row that may have been written is sent again with its idempotency key. Set `never` for a service that [ignores the key](../how-to/written-rows.md#whether-a-service-honours-keys).',
    ),
  input: input
    .exactOptional()
    .describe(
      'How [files from a spreadsheet](../how-to/write-back.md#files-from-a-spreadsheet) are read, but not exports and rows to correct. An option of the command replaces a key; `--save-input` writes these keys.',
    ),
  ignore: anyFieldNames
    .prefault([])
    .describe(
      "Fields whose values in the service's response may be other than those that were sent. Differences in other fields than these, `createdAt` and `updatedAt` are reported.",
    ),
};

const CONFIRM = { confirmFor: 'confirmForMs' } as const;

/** `writeBack` of a connection. */
export const writeBack = renamed(
  section({
    'time-entries': renamed(section(write), CONFIRM).prefault({}),
    'calendar-entries': renamed(
      section({
        ...write,
        // The API leaves open where an upsert puts `source` and `sourceKey`.
        style: choice(['put-path', 'put-body', 'post-body'])
          .prefault('put-path')
          .describe(
            'How an upsert is sent: `PUT <path>/{source}/{sourceKey}`, `PUT <path>` or `POST <path>`.',
          ),
      }),
      CONFIRM,
    ).prefault({}),
    unknownAfter: duration({ unit: 'h', min: 1000 })
      .prefault('12h')
      .describe(
        'How long the service is assumed to remember an idempotency key. Later, a row that may have been sent is sent again only with `--unknown resend`.',
      ),
  }),
  { unknownAfter: 'unknownAfterMs' },
);

type Mirrored = Pick<OwnResource, 'name' | 'path' | 'key'> & { readonly csv: CsvKeys };

/** By default, a write uses the path and the id of the resource's list, and receipts escape formulas as its parts do. */
export function completeWriteBack(
  found: z.output<typeof writeBack>,
  resources: readonly Mirrored[],
  csv: CsvKeys,
) {
  const mirrored = (name: string) => resources.find((resource) => resource.name === name);
  const standard = (name: string) => ({
    path: mirrored(name)?.path ?? name,
    idField: idFieldOf(mirrored(name)),
  });
  const escapes = (name: string) => (mirrored(name)?.csv ?? csv).escapeFormulas;
  return {
    ...found,
    'time-entries': { ...standard('time-entries'), ...found['time-entries'] },
    'calendar-entries': { ...standard('calendar-entries'), ...found['calendar-entries'] },
    escapeFormulas: {
      'time-entries': escapes('time-entries'),
      'calendar-entries': escapes('calendar-entries'),
    },
  };
}

/** The key of a mirrored resource, if it is one field. The key of calendar entries is the pair, which they need not return. */
function idFieldOf(resource: Mirrored | undefined): string {
  const [field, ...others] = resource?.key ?? [];
  if (resource === undefined || field === undefined || others.length > 0) return 'id';
  // A flattened key is nested in the response.
  const isNested = resource.csv.nested === 'flatten' && field.includes('.');
  return isNested ? `/${field.split('.').map(escapeToken).join('/')}` : field;
}

/** RFC 6901, section 3. */
function escapeToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
