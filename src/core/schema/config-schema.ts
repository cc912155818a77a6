import { z } from 'zod';
import { DAY_MS, HOUR_MS } from '../duration.js';
import {
  byteSize,
  choice,
  duration,
  durationOr,
  flag,
  orNull,
  parsedString,
  renamed,
  section,
  singleLine,
  wholeNumber,
} from './building-blocks.js';
import { readCron, readTimezone } from './cron.js';
import { readBaseUrl, readEndpoint, readLakeUrl, readShare } from './readers.js';
import { requestHeaders } from './schema-headers.js';
import { awsAccount, folderMode } from './schema-lake.js';
import { notify } from './schema-notify.js';
import { csvSection, tables } from './schema-output.js';
import { DEFAULT_RESOURCES, deletePolicy, resource } from './schema-resource.js';
import { webhook } from './schema-webhook.js';
import { completeWriteBack, writeBack } from './schema-write-back.js';
import { secretRef } from './secret-ref.js';
import { invalidValue } from './values.js';

export const baseUrl = parsedString('an http or https URL such as https://tracker.example.com', readBaseUrl);

export const lake = section({
  url: parsedString('s3://bucket, s3://bucket/prefix or file:///absolute/folder', readLakeUrl).describe(
    '`s3://bucket/prefix`, or `file:///absolute/folder` for a lake on a local disk. Lakes of two connections must not overlap.',
  ),
  region: singleLine('a region such as eu-central-1')
    .optional()
    .describe('Region of the bucket. Default: the region of the AWS SDK; `us-east-1` with an endpoint.'),
  endpoint: parsedString('an http or https URL such as http://127.0.0.1:9000', readEndpoint)
    .optional()
    .describe('URL of an S3-compatible store other than AWS.'),
  forcePathStyle: flag()
    .optional()
    .describe('Use `https://endpoint/bucket/key`. Most stores other than AWS require it.'),
  mode: folderMode
    .optional()
    .describe('Permissions of the folder of a lake on a local disk, if a run creates it. Default: `"0700"`.'),
  ...awsAccount.shape,
});

const statusError = ({ input }: { readonly input?: unknown }) =>
  invalidValue(input, 'a status from 300 to 599, or one of the classes 4xx and 5xx') +
  (typeof input === 'string' && /^\d+$/.test(input) ? '. Remove the quotes.' : '');

const statuses = z
  .array(
    z.union(
      [
        z.int({ error: statusError }).min(300, { error: statusError }).max(599, { error: statusError }),
        z.enum(['4xx', '5xx'], { error: statusError }),
      ],
      { error: statusError },
    ),
    { error: ({ input }) => invalidValue(input, 'a list of statuses such as [401, 403] or [429, 5xx]') },
  )
  .meta({ title: 'list of statuses' })
  .transform((found) => [...new Set(found)]);

/** An exact status takes precedence over a class, so `4xx` in one list and `429` in the other are no contradiction. */
export const errors = section({
  refused: statuses.prefault([401, 402, 403]).describe('Statuses that refuse an API key, a plan or a grant.'),
  transient: statuses.prefault([408, 425, 429, '5xx']).describe('Statuses that are retried.'),
});

const rateError = ({ input }: { readonly input?: unknown }) =>
  invalidValue(input, 'a number above 0, or null for no limit');

const timeout = duration({ unit: 's', min: 1, max: HOUR_MS });

const http = renamed(
  section({
    concurrency: wholeNumber(1, 256)
      .prefault(8)
      .describe('Maximum concurrent requests to the service per worker process.'),
    requestsPerSecond: z
      .number({ error: rateError })
      .positive({ error: rateError })
      .nullable()
      .prefault(null)
      .meta({ title: 'number above 0, or null' })
      .describe(
        'Maximum requests per second per worker process. With `null`, only 429 responses slow them down.',
      ),
    connectTimeout: timeout.prefault('10s').describe('Timeout for opening a connection.'),
    headersTimeout: timeout.prefault('60s').describe('Timeout for the response headers.'),
    bodyTimeout: timeout.prefault('60s').describe('Timeout between two chunks of a response body.'),
    responseTimeout: timeout.prefault('5m').describe('Timeout for one complete response.'),
    maxBody: byteSize(1024, 1024 ** 3)
      .prefault('64MiB')
      .describe('Maximum size of a response after decompression.'),
    allowPlainHttp: flag()
      .prefault(false)
      .describe('Allow `http://` to another machine, although the key is then sent unencrypted.'),
    headers: requestHeaders
      .prefault({})
      .describe(
        'More headers of each request: a text, or a secret, as for a gateway in front of the service.',
      ),
  }),
  {
    connectTimeout: 'connectTimeoutMs',
    headersTimeout: 'headersTimeoutMs',
    bodyTimeout: 'bodyTimeoutMs',
    responseTimeout: 'responseTimeoutMs',
    maxBody: 'maxBodyBytes',
  },
);

export const overlap = duration({ unit: 'm', max: 7 * DAY_MS });

const END_CURSOR = 'texts or whole numbers, such as ["0"] or ["end"]';

const endCursors = z.array(z.union([singleLine(END_CURSOR, 100), z.int().transform(String)]), {
  error: ({ input }) => invalidValue(input, `a list of ${END_CURSOR}`),
});

const sync = renamed(
  section({
    pageSize: wholeNumber(1, 100_000)
      .prefault(1000)
      .describe(
        'Records per page. The size is halved if the service rejects it or fails at it several times.',
      ),
    overlap: overlap
      .prefault('5m')
      .describe('How far before the start of the last run an increment reads again; at least one second.'),
    clock: choice(['earliest', 'service'])
      .prefault('earliest')
      .describe(
        "Clock for the start of a run: the earlier of the service's and Temporal's, or the service's alone.",
      ),
    reconcileEvery: durationOr('never', { unit: 'd', min: 1 })
      .prefault('7d')
      .describe('How often a run reads everything and detects deletes.'),
    minInterval: duration({ unit: 'm' })
      .prefault('15m')
      .describe('Least time between two runs that change notices start.'),
    total: choice(['check', 'ignore'])
      .prefault('check')
      .describe(
        'Whether a total in the list, such as `page.total`, shows that records are [missing](../explanation/guarantees.md#incomplete-lists).',
      ),
    endCursors: endCursors
      .prefault([])
      .describe('Values of `nextCursor` that mark the end of a list, such as `["0"]` or `["end"]`.'),
  }),
  {
    overlap: 'overlapMs',
    reconcileEvery: 'reconcileEveryMs',
    minInterval: 'minIntervalMs',
  },
);

const schedule = renamed(
  section({
    cron: parsedString('a cron expression such as "0 2 * * *"', readCron)
      .prefault('0 2 * * *')
      .describe('Cron expression for the start of exports.'),
    timezone: parsedString('the name of a time zone such as UTC or Europe/Berlin', readTimezone)
      .prefault('UTC')
      .describe('Time zone of `cron`.'),
    jitter: duration({ unit: 'm' }).prefault('5m').describe('Maximum random delay of each start.'),
    // The minimum that Temporal accepts.
    catchupWindow: duration({ unit: 'h', min: 10_000 })
      .prefault('24h')
      .describe('Starts missed while Temporal was down run late within this time.'),
    pauseOnFailure: flag().prefault(false).describe('Pause the Schedule after a failed export.'),
  }),
  { jitter: 'jitterMs', catchupWindow: 'catchupWindowMs' },
);

const audit = section({
  cron: parsedString('a cron expression such as "0 5 * * 0"', readCron).describe(
    'Cron expression for the start of audits, in the time zone of `schedule`.',
  ),
  sample: parsedString('a share such as 1% or 100%', readShare)
    .prefault('100%')
    .describe('Share of the rows that are compared. Below 100%, they are read by id.'),
});

const retries = section({
  giveUpAfter: duration({ unit: 'h', min: 1 })
    .prefault('6h')
    .describe('How long transient errors are retried before the run fails.'),
});

const retention = section({
  snapshots: duration({ unit: 'd', min: 1 })
    .prefault('30d')
    .describe('How long replaced snapshots are kept.'),
  keep: choice(['last', 'all'])
    .prefault('last')
    .describe('Snapshots kept per day. An earlier one is removed 24 h after it was replaced.'),
});

/** Temporal limits names to 1,000 bytes. */
const MAX_NAME_LENGTH = 200;

/** `onPublished` of a connection: the user's workflow that starts once for each published run. */
const onPublished = section({
  workflow: singleLine('the type of a workflow such as loadWarehouse', MAX_NAME_LENGTH).describe(
    "The workflow's type. Its argument is `{ connection, report }`.",
  ),
  taskQueue: singleLine('the name of a task queue such as warehouse', MAX_NAME_LENGTH).describe(
    "Task queue of your worker, which may be this package's worker.",
  ),
});

const masking = section({
  secret: secretRef().describe('The secret: at least 16 characters, the same for all workers.'),
});

const connectionKeys = section({
  baseUrl: baseUrl.describe('URL of the service, without `/api/public/v2`.'),
  apiKey: secretRef().describe('Where the API key is read when it is used, never the key itself.'),
  lake: lake.describe('Location of snapshots, change logs and receipts.'),
  resources: z
    .array(resource, {
      error: ({ input }) => invalidValue(input, 'a list of resources such as [projects, tasks]'),
    })
    .min(1, {
      error:
        'found an empty list; allowed: at least one resource. To mirror the default ones, remove the key',
    })
    .prefault(DEFAULT_RESOURCES)
    .describe('Mirrored resources: names, or maps for any list endpoint of the service.'),
  masking: orNull(masking).describe(
    'Secret for `mask: hash` (HMAC-SHA-256). Without it, hashes are plain SHA-256, and names and e-mail addresses can be guessed from them.',
  ),
  retries: renamed(retries, { giveUpAfter: 'giveUpAfterMs' })
    .prefault({})
    .describe('Retries after transient errors of the service and the store.'),
  errors: errors.prefault({}).describe('Meaning of the HTTP statuses of the service.'),
  http: http.prefault({}).describe('HTTP requests to the service.'),
  json: choice(['strict', 'lenient'])
    .prefault('strict')
    .describe(
      'With `lenient`, responses may have raw control characters in strings, and `NaN` or `Infinity`, which are read as null.',
    ),
  sync: sync.prefault({}).describe('How runs read the service.'),
  deletes: deletePolicy
    .prefault('mark')
    .describe(
      'Deleted rows: `mark` sets `_deleted_at`, `drop` removes them from the snapshot, `keep` leaves them unchanged.',
    ),
  csv: csvSection.prefault({}).describe('CSV format of the parts.'),
  retention: renamed(retention, { snapshots: 'snapshotsMs', keep: 'keepPerDay' })
    .prefault({})
    .describe('Retention of snapshots in the lake.'),
  tables: tables
    .prefault({})
    .describe('Tables next to the snapshots, which query engines open by their path.'),
  schedule: schedule.prefault({}).describe('The nightly run. `worktrack schedule apply` applies changes.'),
  audit: orNull(audit).describe(
    '[Audits](../how-to/audit.md), started by a second Schedule; `worktrack schedule apply` applies changes. Default: off.',
  ),
  webhook: orNull(webhook).describe('Receiver of change notices. Default: off.'),
  notify: notify
    .optional()
    .transform((targets) => targets ?? [])
    .describe('[Alerts](../how-to/alerts.md): one target, or a list of targets. Default: off.'),
  onPublished: orNull(onPublished).describe(
    'Your workflow, started once for each published run. Default: off.',
  ),
  writeBack: writeBack.prefault({}).describe('Write-back of rows to the service.'),
});

const MiB = 1024 ** 2;
/** Enough for good compression and few requests. */
const PART_BYTES = 64 * MiB;
/** Smaller with a table, because a change rewrites the data file of its part, which costs more than the part. */
const TABLE_PART_BYTES = 16 * MiB;

/**
 * A connection; its output are the settings that all other code reads. Each resource gets the settings of its connection
 * that it does not have itself.
 */
export const connection = connectionKeys.transform(({ csv, deletes, ...found }) => {
  const partBytes = found.tables === null ? PART_BYTES : TABLE_PART_BYTES;
  const resources = found.resources.map((own) => ({
    ...{ deletes, ...own },
    csv: { partBytes, ...csv, ...own.csv },
  }));
  return { ...found, resources, writeBack: completeWriteBack(found.writeBack, resources, csv) };
});

/** The complete file. Rules that compare two parts of the file are in `cross-checks.ts`. */
export const configFile = section({
  // Editors find the schema of a JSON file by this key.
  $schema: z.string({ error: ({ input }) => invalidValue(input, 'the address of a JSON Schema') }).optional(),
  // Checked as a part of each connection (`defaults.ts`).
  defaults: z.record(z.string(), z.unknown()).optional(),
  connections: z.record(z.string(), connection, {
    error: ({ input }) =>
      invalidValue(input, 'a map from names to connections, each with baseUrl, apiKey and lake'),
  }),
});

/**
 * The JSON Schema (draft 2020-12) of the configuration file, for editors, generated from the zod schema. It does not
 * contain the rules of `cross-checks.ts`.
 *
 * @example
 * await writeFile('worktrack.schema.json', JSON.stringify(configJsonSchema()));
 */
export function configJsonSchema(): object {
  const schema = z.toJSONSchema(configFile, { io: 'input' }) as JsonSchema;
  const connection = schema.properties!.connections!.additionalProperties!;
  const properties = { ...schema.properties, defaults: partial(connection) };
  return { title: 'worktrack.yaml', ...schema, properties };
}

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

/** The schema of a part of a connection: no key is required, because each connection can have the others. */
function partial(schema: JsonSchema): object {
  if (schema.properties === undefined) return schema;
  const { required: _, ...rest } = schema as JsonSchema & { readonly required?: unknown };
  const entries = Object.entries(schema.properties).map(([name, of]) => [name, partial(of)]);
  return { ...rest, properties: Object.fromEntries(entries) };
}
