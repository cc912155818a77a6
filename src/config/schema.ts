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
  url: readable('s3://bucket, s3://bucket/prefix or file:///absolute/folder', readLakeUrl),
  region: line('a region such as eu-central-1').optional(),
  endpoint: readable('an http or https URL such as http://127.0.0.1:9000', readEndpoint).optional(),
  forcePathStyle: flag().optional(),
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
  refused: statuses.prefault([401, 402, 403]),
  transient: statuses.prefault([408, 425, 429, '5xx']),
});

const rateError = ({ input }: { readonly input?: unknown }) =>
  wrong(input, 'a number above 0, or null for no ceiling');

export const http = section({
  concurrency: count(1, 256).prefault(8),
  requestsPerSecond: z.number({ error: rateError }).positive({ error: rateError }).nullable().prefault(null),
  connectTimeout: duration({ unit: 's', min: 1, max: HOUR }).prefault('10s'),
  headersTimeout: duration({ unit: 's', min: 1, max: HOUR }).prefault('60s'),
  bodyTimeout: duration({ unit: 's', min: 1, max: HOUR }).prefault('60s'),
  maxBody: byteSize(1024, 1024 ** 3).prefault('64MiB'),
  allowPlainHttp: flag().prefault(false),
});

export const overlap = duration({ unit: 'm', max: 7 * 24 * HOUR });

const sync = section({
  pageSize: count(1, 100_000).prefault(1000),
  overlap: overlap.prefault('5m'),
  clock: choice(['earliest', 'service']).prefault('earliest'),
  reconcileEvery: durationOr('never', { unit: 'd', min: 1 }).prefault('7d'),
  minInterval: duration({ unit: 'm' }).prefault('15m'),
});

const schedule = section({
  cron: readable('a cron text such as "0 2 * * *"', readCron).prefault('0 2 * * *'),
  timezone: readable('the name of a time zone such as UTC or Europe/Berlin', readTimezone).prefault('UTC'),
  jitter: duration({ unit: 'm' }).prefault('5m'),
  // Temporal takes no shorter one.
  catchupWindow: duration({ unit: 'h', min: 10_000 }).prefault('24h'),
  pauseOnFailure: flag().prefault(false),
});

const writeBack = section({
  'time-entries': section({ path: path.optional() }).prefault({}),
  'calendar-entries': section({
    path: path.optional(),
    style: choice(['put-path', 'put-body', 'post-body']).prefault('put-path'),
  }).prefault({}),
  unknownAfter: duration({ unit: 'h', min: 1000 }).prefault('12h'),
});

const connection = section({
  baseUrl,
  apiKey: secretRef(),
  lake,
  resources: z
    .array(resource, { error: ({ input }) => wrong(input, 'a list of resources such as [projects, tasks]') })
    .min(1, {
      error:
        'found an empty list; allowed: at least one resource, or leave the key out for the four of the spec',
    })
    .prefault(DEFAULT_RESOURCES),
  retries: section({ giveUpAfter: duration({ unit: 'h', min: 1 }).prefault('6h') }).prefault({}),
  errors: errors.prefault({}),
  http: http.prefault({}),
  sync: sync.prefault({}),
  deletes: deletePolicy.prefault('mark'),
  csv: csvSection.prefault({}),
  retention: section({
    snapshots: duration({ unit: 'd', min: 1 }).prefault('30d'),
    keep: choice(['last', 'all']).prefault('last'),
  }).prefault({}),
  schedule: schedule.prefault({}),
  webhook: webhook.optional(),
  notify: notify.optional(),
  writeBack: writeBack.prefault({}),
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
