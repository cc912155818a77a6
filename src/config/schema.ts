import { z } from 'zod';
import { readCron, readTimezone } from './cron.js';
import { DEFAULT_RESOURCES } from './default-resources.js';
import { wrong } from './found.js';
import { readLakeUrl } from './lake-url.js';
import { byteSize, choice, count, duration, durationOr, flag, line, readable } from './scalars.js';
import { csvSection } from './schema-csv.js';
import { notify } from './schema-notify.js';
import { deletePolicy, path, resource } from './schema-resource.js';
import { webhook } from './schema-webhook.js';
import { secretRef } from './secret-ref.js';
import { section } from './section.js';
import { readBaseUrl, readEndpoint } from './urls.js';

const HOUR = 3_600_000;

export const baseUrl = readable('an http or https URL such as https://tracker.example.com', readBaseUrl);

export const lake = section({
  url: readable('s3://bucket, s3://bucket/prefix or file:///absolute/folder', readLakeUrl).describe(
    "`s3://bucket/prefix`, or `file:///absolute/folder` for a lake on one machine's disk. Lakes of two connections lie apart.",
  ),
  region: line('a region such as eu-central-1')
    .optional()
    .describe("The bucket's region. Default: as the AWS SDK finds it; `us-east-1` with an endpoint."),
  endpoint: readable('an http or https URL such as http://127.0.0.1:9000', readEndpoint)
    .optional()
    .describe('URL of a store other than AWS.'),
  forcePathStyle: flag()
    .optional()
    .describe(
      '`https://endpoint/bucket/key` instead of `https://bucket.endpoint/key`, which most other stores want.',
    ),
});

const statusError = ({ input }: { readonly input?: unknown }) =>
  wrong(input, 'a status from 300 to 599 or one of the classes 4xx and 5xx') +
  (typeof input === 'string' && /^\d+$/.test(input) ? '. Leave the quotes out.' : '');

const statuses = z.array(
  z.union(
    [
      z.int({ error: statusError }).min(300, { error: statusError }).max(599, { error: statusError }),
      z.enum(['4xx', '5xx'], { error: statusError }),
    ],
    { error: statusError },
  ),
  { error: ({ input }) => wrong(input, 'a list of statuses such as [401, 403] or [429, 5xx]') },
);

/** An exact status outranks a class, so `4xx` in one list and `429` in the other do not contradict each other. */
export const errors = section({
  refused: statuses
    .prefault([401, 402, 403])
    .describe(
      'Statuses by which the service refuses: a key, a plan, a grant. They end the run, or its resource.',
    ),
  transient: statuses
    .prefault([408, 425, 429, '5xx'])
    .describe('Statuses that are tried again. An exact status outranks a class.'),
});

const rateError = ({ input }: { readonly input?: unknown }) =>
  wrong(input, 'a number above 0, or null for no ceiling');

export const http = section({
  concurrency: count(1, 256)
    .prefault(8)
    .describe('Requests at a time to the service, in one worker process.'),
  requestsPerSecond: z
    .number({ error: rateError })
    .positive({ error: rateError })
    .nullable()
    .prefault(null)
    .meta({ title: 'number above 0, or null' })
    .describe(
      "Ceiling of the pace, in requests a second and worker process. `null` leaves it to the service's 429s.",
    ),
  connectTimeout: duration({ unit: 's', min: 1, max: HOUR })
    .prefault('10s')
    .describe('For a connection to come about.'),
  headersTimeout: duration({ unit: 's', min: 1, max: HOUR })
    .prefault('60s')
    .describe('From the request to the head of the answer.'),
  bodyTimeout: duration({ unit: 's', min: 1, max: HOUR })
    .prefault('60s')
    .describe('Longest silence between two pieces of a body.'),
  maxBody: byteSize(1024, 1024 ** 3)
    .prefault('64MiB')
    .describe('Bound of one answer after decompression.'),
  allowPlainHttp: flag()
    .prefault(false)
    .describe(
      'Allows a `baseUrl` with `http://` that is not on this machine: the key then travels in the clear.',
    ),
});

export const overlap = duration({ unit: 'm', max: 7 * 24 * HOUR });

const sync = section({
  pageSize: count(1, 100_000)
    .prefault(1000)
    .describe(
      'Records that a page is asked for. What the service applies is taken; a page that it refuses is halved.',
    ),
  overlap: overlap
    .prefault('5m')
    .describe('How much of the time before the last run is read again; one second at least is.'),
  clock: choice(['earliest', 'service'])
    .prefault('earliest')
    .describe(
      "Start of a run: the earlier one of the service's clock and the workflow's, or the service's `Date` alone.",
    ),
  reconcileEvery: durationOr('never', { unit: 'd', min: 1 })
    .prefault('7d')
    .describe('How often a run reads everything and concludes which records are gone.'),
  minInterval: duration({ unit: 'm' })
    .prefault('15m')
    .describe('Least time between two runs that change notices ask for.'),
});

const schedule = section({
  cron: readable('a cron text such as "0 2 * * *"', readCron)
    .prefault('0 2 * * *')
    .describe('When exports start.'),
  timezone: readable('the name of a time zone such as UTC or Europe/Berlin', readTimezone)
    .prefault('UTC')
    .describe('Time zone of `cron`.'),
  jitter: duration({ unit: 'm' })
    .prefault('5m')
    .describe('Each start is put off by a random time up to this.'),
  // Temporal takes no shorter one.
  catchupWindow: duration({ unit: 'h', min: 10_000 })
    .prefault('24h')
    .describe('A start that was missed, as Temporal was down, is made up for within this.'),
  pauseOnFailure: flag().prefault(false).describe('A failed export pauses the Schedule.'),
});

const WRITE_PATH = 'Endpoint, below `/api/public/v2/`. Default: that of the resource of this name.';

const writeBack = section({
  'time-entries': section({ path: path.optional().describe(WRITE_PATH) }).prefault({}),
  'calendar-entries': section({
    path: path.optional().describe(WRITE_PATH),
    style: choice(['put-path', 'put-body', 'post-body'])
      .prefault('put-path')
      .describe('How an upsert is sent: `PUT <path>/{source}/{sourceKey}`, `PUT <path>`, or `POST <path>`.'),
  }).prefault({}),
  unknownAfter: duration({ unit: 'h', min: 1000 })
    .prefault('12h')
    .describe(
      'For so long the service is trusted to remember an idempotency key. Rows that may have been sent longer ago are not sent again unasked.',
    ),
});

const connection = section({
  baseUrl: baseUrl.describe("The service's address; `/api/public/v2` is added."),
  apiKey: secretRef().describe(
    'Where the key is read from when it is used: `{ env: NAME }` or `{ file: /absolute/path }`. Never the key itself.',
  ),
  lake: lake.describe('Where snapshots, change logs and receipts go.'),
  resources: z
    .array(resource, { error: ({ input }) => wrong(input, 'a list of resources such as [projects, tasks]') })
    .min(1, {
      error:
        'found an empty list; allowed: at least one resource, or leave the key out for the four of the spec',
    })
    .prefault(DEFAULT_RESOURCES)
    .describe('What is mirrored: names, or maps for any list endpoint of the service.'),
  retries: section({
    giveUpAfter: duration({ unit: 'h', min: 1 })
      .prefault('6h')
      .describe('Transient trouble is retried for so long; then the run fails and the checkpoint stays.'),
  })
    .prefault({})
    .describe('Transient trouble of the service and of the store.'),
  errors: errors.prefault({}).describe("What the service's statuses mean."),
  http: http.prefault({}).describe('Requests to the service.'),
  sync: sync.prefault({}).describe('How a run reads.'),
  deletes: deletePolicy
    .prefault('mark')
    .describe(
      'Rows that the service no longer has: get `_deleted_at`, are left out of the snapshot, or stay as they are.',
    ),
  csv: csvSection.prefault({}).describe('How parts are written.'),
  retention: section({
    snapshots: duration({ unit: 'd', min: 1 })
      .prefault('30d')
      .describe('How long a snapshot is kept, the current one in any case. Change logs stay for ever.'),
    keep: choice(['last', 'all'])
      .prefault('last')
      .describe(
        'Of the runs of one day, the last or all; earlier ones go 24 h after a later one is published.',
      ),
  })
    .prefault({})
    .describe('What stays in the lake.'),
  schedule: schedule.prefault({}).describe('The nightly run, which `worktrack schedule apply` sets up.'),
  webhook: webhook.optional().describe('How change notices are received. Left out: none are.'),
  notify: notify.optional().describe('Who is told of failures. Left out: nobody.'),
  writeBack: writeBack.prefault({}).describe('How rows are written to the service.'),
});

/** The whole file. Rules that need two places at once are in `cross-checks.ts`. */
export const configFile = section({
  // For editors of JSON files, which know the schema by this key.
  $schema: z.string({ error: ({ input }) => wrong(input, 'the address of a JSON Schema') }).optional(),
  connections: z.record(z.string(), connection, {
    error: ({ input }) => wrong(input, 'a map from names to connections, each with baseUrl, apiKey and lake'),
  }),
});

export type ParsedConfig = z.output<typeof configFile>;
export type ParsedConnection = z.output<typeof connection>;
