/**
 * Checks of signal arguments from other workflows and clients. Temporal has no validators for signals: the argument stays in
 * the history, and a handler that throws stops its workflow at the same event in every attempt. Pure: the workflow sandbox
 * imports this file.
 *
 * Each function returns `null` for a well-formed argument, otherwise one line that names the field and the expected value. The
 * line never quotes the actual value, which may contain the key of a record.
 */
import { ALERT_EVENTS } from './alert-events.js';
import type {
  AlertReport,
  AlertTarget,
  AuditReport,
  AuditRequest,
  CheckSummary,
  DeleteDetection,
  DryRunReport,
  DryRunRequest,
  FoundProblem,
  MirrorRequest,
  Observation,
  PurgeCounts,
  PurgeRequest,
  RollbackRequest,
  RunCounts,
  RunRecord,
  RunRequest,
  SyncInput,
} from './contract/index.js';
import { isRunId } from './run-id.js';
import type { SchemaChange, SchemaChanges } from './schema-changes.js';
import { utf8Bytes } from './text-budget.js';
import { isUtcSeconds, parseSince } from './utc-time.js';

/** @param path of the value within the argument. Default: the value is the argument itself */
type Check = (value: unknown, path?: string) => string | null;
/** One check per field. The compiler reports a missing check if a field is added to a message. */
type ChecksOf<Message> = { readonly [Field in keyof Required<Message>]: Check };

/** Temporal fails the whole workflow task for a longer id; UTF-8 bytes. */
const MAX_ID_BYTES = 1000;
/** The last moment of the year 9999: `dt=` has four digits for the year. */
const LAST_MOMENT = Date.UTC(10_000, 0) - 1;

const text: Check = is('a string', (value) => typeof value === 'string');
/** Checks the argument of signals with one id: `withdrawRequest`, `releaseLock`, `lockGranted`. */
export const idProblem: Check = is(
  `a non-empty string of at most ${MAX_ID_BYTES} bytes without lone surrogates`,
  (value) =>
    typeof value === 'string' && value !== '' && value.isWellFormed() && utf8Bytes(value) <= MAX_ID_BYTES,
);
const flag: Check = is('true or false', (value) => typeof value === 'boolean');
const count: Check = is(
  'a whole number of at least 0',
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
);
const share: Check = is(
  'a number more than 0 and less than 1',
  (value) => typeof value === 'number' && value > 0 && value < 1,
);
const moment: Check = is(
  'milliseconds since 1970, a whole number up to the year 9999',
  (value) => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= LAST_MOMENT,
);
const ifTrue: Check = optional(is('true', (value) => value === true));
const runId: Check = is(
  'a run id like 20261121T020000Z-1a2b3c4d',
  (value) => typeof value === 'string' && isRunId(value),
);
const utcSeconds: Check = is(
  'a time like 2026-11-21T02:00:00Z',
  (value) => typeof value === 'string' && isUtcSeconds(value),
);

const requestFields = { requestId: idProblem, replyTo: orNull(idProblem) };
const REQUESTS = {
  run: object<Omit<RunRequest, 'kind'>>({
    ...requestFields,
    mode: oneOf('full', 'increment'),
    reconcile: flag,
    adopt: flag,
    allowDeletes: flag,
    adoptOrganization: ifTrue,
    acceptChecks: optional(idProblem),
    since: orNull(utcSeconds),
    nominalStart: moment,
    alertedBy: optional(oneOf('sender')),
    background: ifTrue,
    // The run checks the settings.
    dryRun: optional(
      object<DryRunRequest>({
        cells: optional(count),
        settings: optional(object({})),
        audit: optional(object<AuditRequest>({ sample: optional(share), maxRequests: optional(count) })),
      }),
    ),
  }),
  rollback: object<Omit<RollbackRequest, 'kind'>>({ ...requestFields, to: runId }),
  purge: object<Omit<PurgeRequest, 'kind'>>({ ...requestFields, key: nonEmpty(listOf(text)) }),
} satisfies Record<MirrorRequest['kind'], Check>;
const ofKnownKind = object({ kind: oneOf(...Object.keys(REQUESTS)) });

/** Of any build: its facts are only shown. */
const warning: Check = is(
  'a string, or an object with a kind',
  (value) => typeof value === 'string' || object({ kind: text })(value) === null,
);

const report = object<RunRecord>({
  resource: text,
  outcome: oneOf(
    ...([
      'published',
      'would-publish',
      'equal',
      'different',
      'not-compared',
      'failed',
      'refused',
      'cancelled',
    ] as const),
  ),
  runId: orNull(runId),
  rows: orNull(count),
  counts: orNull(
    object<RunCounts>({
      fetched: count,
      duplicates: count,
      unchanged: count,
      inserted: count,
      updated: count,
      deleted: count,
      retained: count,
      rows: count,
      restated: count,
      missed: optional(count),
      wentBack: optional(count),
    }),
  ),
  snapshot: orNull(text),
  warnings: listOf(warning),
  schemaChanges: optional(
    object<SchemaChanges>({
      first: listOf(object<SchemaChange>({ name: text, had: orNull(listOf(text)), added: listOf(text) })),
      count,
    }),
  ),
  deletes: optional(
    object<DeleteDetection>({
      basis: oneOf('by-id', 'two-readings', 'none'),
      windowField: orNull(text),
      reason: orNull(oneOf('kept', 'no-window-field', 'no-dates', 'not-dates', 'endpoint', 'no-id')),
      notListed: orNull(count),
    }),
  ),
  deletesAsBefore: ifTrue,
  checks: optional(
    object<CheckSummary>({
      passed: count,
      skipped: count,
      warned: listOf(text),
      accepted: listOf(text),
    }),
  ),
  error: orNull(object({ type: text, message: text })),
  rolledBackTo: optional(runId),
  rolledBackFrom: optional(runId),
  purged: optional(
    object<PurgeCounts>({ snapshots: count, changeLogs: count, quarantineFiles: optional(count) }),
  ),
  audit: optional(
    object<AuditReport>({
      ...{ rows: count, cells: count, equal: count, different: count, missing: count, extra: count },
      ...{ pending: count, notYetLookedFor: count, notComparable: count, keptNewer: count },
      ...{ readings: count, requests: count, bytes: count, runId, limits: listOf(text) },
      snapshot: object({ key: text, sha256: text }),
      checkpoint: orNull(text),
      diff: orNull(text),
    }),
  ),
  dryRun: optional(
    object<DryRunReport>({
      columns: listOf(object({ name: text, types: listOf(text) })),
      tableFiles: orNull(object({ written: count, kept: count })),
      requests: count,
      bytes: count,
      diff: orNull(text),
    }),
  ),
});
const event = oneOf(...ALERT_EVENTS);

/** Checks the argument of `alertReport`. */
export const alertReportProblem = object<AlertReport>({
  connection: text,
  targets: listOf(object<AlertTarget>({ id: text, on: listOf(event), incidents: flag })),
  resources: listOf(text),
  observations: listOf(
    object<Observation>({
      resource: text,
      covers: listOf(event),
      problems: listOf(
        object<FoundProblem>({
          kind: event,
          mark: text,
          text,
          only: optional(listOf(text)),
          dueAt: optional(moment),
        }),
      ),
      quietly: ifTrue,
      asOf: optional(moment),
    }),
  ),
  checkAt: optional(orNull(moment)),
  checkBy: optional(moment),
  isPaused: ifTrue,
});

/** Checks the argument of `requestRun`. */
export function mirrorRequestProblem(value: unknown): string | null {
  return ofKnownKind(value) ?? REQUESTS[(value as MirrorRequest).kind](value);
}

/** Checks the fields of the argument of the update `sync`. */
export const syncInputProblem = object<SyncInput>({
  mode: optional(oneOf('full', 'increment')),
  reconcile: optional(flag),
  since: optional(
    is(
      'a date such as 2026-08-01, or a time with its zone such as 2026-08-01T12:00:00Z',
      (value) => typeof value === 'string' && parseSince(value) !== null,
    ),
  ),
});

/** Checks the argument of `runAnswered`. */
export const runAnswerProblem = object({ requestId: idProblem, report });

/** Checks the argument of `changeNotice`. */
export const changeNoticeProblem = object({ notices: count });

/** Checks the argument of `acquireLock`, and a ticket in the carried-over state of a lock. */
export const lockTicketProblem = object({ workflowId: idProblem, token: idProblem });

function is(expected: string, accepts: (value: unknown) => boolean): Check {
  return (value, path = 'the argument') => (accepts(value) ? null : `${path} must be ${expected}`);
}

function oneOf(...allowed: readonly string[]): Check {
  return is(allowed.map((one) => `"${one}"`).join(' or '), (value) => allowed.includes(value as string));
}

function orNull(check: Check): Check {
  return (value, path) => {
    const wrong = value === null ? null : check(value, path);
    return wrong?.startsWith(`${path} must`) === true ? `${wrong}, or null` : wrong;
  };
}

function optional(check: Check): Check {
  return (value, path) => (value === undefined ? null : check(value, path));
}

function listOf(check: Check): Check {
  return (value, path) => {
    if (!Array.isArray(value)) return is('a list', () => false)(value, path);
    return first(value.map((one: unknown, at) => check(one, `${path}[${at}]`)));
  };
}

function nonEmpty(check: Check): Check {
  return (value, path) =>
    check(value, path) ?? is('a non-empty list', () => (value as readonly unknown[]).length > 0)(value, path);
}

/** Ignores unknown fields, because a newer sender may add some. */
function object<Message = Readonly<Record<string, unknown>>>(fields: ChecksOf<Message>): Check {
  return (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return is('an object', () => false)(value, path);
    const found = value as Readonly<Record<string, unknown>>;
    const under = path === undefined ? '' : `${path}.`;
    return first(Object.entries<Check>(fields).map(([name, check]) => check(found[name], `${under}${name}`)));
  };
}

function first(problems: readonly (string | null)[]): string | null {
  return problems.find((one) => one !== null) ?? null;
}
