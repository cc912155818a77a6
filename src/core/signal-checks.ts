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
  CheckSummary,
  DeleteDetection,
  FoundProblem,
  MirrorRequest,
  Observation,
  PurgeCounts,
  PurgeRequest,
  RollbackRequest,
  RunCounts,
  RunReport,
  RunRequest,
  SyncInput,
  Together,
} from './contract/index.js';
import { isRunId } from './run-id.js';
import { utf8Bytes } from './text-budget.js';
import { isUtcSeconds, parseSince } from './utc-time.js';

type Check = (value: unknown, path: string) => string | null;
/** One check per field. The compiler reports a missing check if a field is added to a message. */
type ChecksOf<Message> = { readonly [Field in keyof Required<Message>]: Check };

/** Temporal fails the whole workflow task for a longer id; UTF-8 bytes. */
const MAX_ID_BYTES = 1000;
/** The last moment of the year 9999: `dt=` has four digits for the year. */
const LAST_MOMENT = Date.UTC(10_000, 0) - 1;

const text: Check = is('a string', (value) => typeof value === 'string');
const id: Check = is(
  `a non-empty string of at most ${MAX_ID_BYTES} bytes without lone surrogates`,
  (value) =>
    typeof value === 'string' && value !== '' && value.isWellFormed() && utf8Bytes(value) <= MAX_ID_BYTES,
);
const flag: Check = is('true or false', (value) => typeof value === 'boolean');
const count: Check = is(
  'a whole number of at least 0',
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
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

const requestFields = { requestId: id, replyTo: orNull(id) };
const REQUESTS = {
  run: object({
    ...requestFields,
    mode: oneOf('full', 'increment'),
    reconcile: flag,
    adopt: flag,
    allowDeletes: flag,
    acceptChecks: optional(id),
    since: orNull(utcSeconds),
    nominalStart: moment,
    alertedBy: optional(oneOf('sender')),
    background: ifTrue,
  } satisfies ChecksOf<Omit<RunRequest, 'kind'>>),
  rollback: object({ ...requestFields, to: runId } satisfies ChecksOf<Omit<RollbackRequest, 'kind'>>),
  purge: object({ ...requestFields, key: nonEmpty(listOf(text)) } satisfies ChecksOf<
    Omit<PurgeRequest, 'kind'>
  >),
} satisfies Record<MirrorRequest['kind'], Check>;
const ofKnownKind = object({ kind: oneOf(...Object.keys(REQUESTS)) });

const report = object({
  resource: text,
  outcome: oneOf('published', 'failed', 'refused', 'cancelled'),
  runId: orNull(runId),
  rows: orNull(count),
  counts: orNull(
    object({
      fetched: count,
      duplicates: count,
      unchanged: count,
      inserted: count,
      updated: count,
      deleted: count,
      retained: count,
      rows: count,
      restated: count,
    } satisfies ChecksOf<RunCounts>),
  ),
  snapshot: orNull(text),
  warnings: listOf(text),
  deletes: optional(
    object({
      basis: oneOf('by-id', 'two-readings', 'none'),
      windowField: orNull(text),
      reason: orNull(oneOf('kept', 'no-window-field', 'no-dates', 'not-dates', 'endpoint', 'no-id')),
      notListed: orNull(count),
    } satisfies ChecksOf<DeleteDetection>),
  ),
  checks: optional(
    object({
      passed: count,
      skipped: count,
      warned: listOf(text),
      accepted: listOf(text),
    } satisfies ChecksOf<CheckSummary>),
  ),
  error: orNull(object({ type: text, message: text })),
  rolledBackTo: optional(runId),
  rolledBackFrom: optional(runId),
  purged: optional(object({ snapshots: count, changeLogs: count } satisfies ChecksOf<PurgeCounts>)),
} satisfies ChecksOf<RunReport>);
const event = oneOf(...ALERT_EVENTS);

/** Checks the argument of `alertReport`. */
export const alertReportProblem = argument({
  connection: text,
  targets: listOf(object({ id: text, on: listOf(event), incidents: flag } satisfies ChecksOf<AlertTarget>)),
  resources: listOf(text),
  observations: listOf(
    object({
      resource: text,
      covers: listOf(event),
      problems: listOf(
        object({
          kind: event,
          mark: text,
          text,
          only: optional(listOf(text)),
          dueAt: optional(moment),
        } satisfies ChecksOf<FoundProblem>),
      ),
      quietly: ifTrue,
    } satisfies ChecksOf<Observation>),
  ),
  together: optional(object({ id: text, exports: count } satisfies ChecksOf<Together>)),
  checkAt: optional(orNull(moment)),
  checkBy: optional(moment),
  isPaused: ifTrue,
} satisfies ChecksOf<AlertReport>);

/** Checks the argument of `requestRun`. */
export function mirrorRequestProblem(value: unknown): string | null {
  return ofKnownKind(value, '') ?? REQUESTS[(value as MirrorRequest).kind](value, '');
}

/** Checks the fields of the argument of the update `sync`. */
export const syncInputProblem = argument({
  mode: optional(oneOf('full', 'increment')),
  reconcile: optional(flag),
  since: optional(
    is(
      'a date such as 2026-08-01, or a time with its zone such as 2026-08-01T12:00:00Z',
      (value) => typeof value === 'string' && parseSince(value) !== null,
    ),
  ),
} satisfies ChecksOf<SyncInput>);

/** Checks the argument of `runAnswered`. */
export const runAnswerProblem = argument({ requestId: id, report });

/** Checks the argument of `changeNotice`. */
export const changeNoticeProblem = argument({ notices: count });

/** Checks the argument of `acquireLock`, and a ticket in the carried-over state of a lock. */
export const lockTicketProblem = argument({ workflowId: id, token: id });

/** Checks the argument of signals with one id: `withdrawRequest`, `releaseLock`, `lockGranted`. */
export function idProblem(value: unknown): string | null {
  return id(value, '');
}

/** The check of an argument that is an object with these fields. */
function argument(fields: Readonly<Record<string, Check>>): (value: unknown) => string | null {
  const check = object(fields);
  return (value) => check(value, '');
}

function is(expected: string, accepts: (value: unknown) => boolean): Check {
  return (value, path) =>
    accepts(value) ? null : `${path === '' ? 'the argument' : path} must be ${expected}`;
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
    return firstProblem(value.map((one: unknown, at) => [`${path}[${at}]`, one, check] as const));
  };
}

function nonEmpty(check: Check): Check {
  return (value, path) =>
    check(value, path) ?? is('a non-empty list', () => (value as readonly unknown[]).length > 0)(value, path);
}

/** Ignores unknown fields, because a newer sender may add some. */
function object(fields: Readonly<Record<string, Check>>): Check {
  return (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return is('an object', () => false)(value, path);
    const found = value as Readonly<Record<string, unknown>>;
    const under = path === '' ? '' : `${path}.`;
    return firstProblem(
      Object.entries(fields).map(([name, check]) => [`${under}${name}`, found[name], check] as const),
    );
  };
}

function firstProblem(
  parts: readonly (readonly [path: string, value: unknown, check: Check])[],
): string | null {
  for (const [path, value, check] of parts) {
    const wrong = check(value, path);
    if (wrong !== null) return wrong;
  }
  return null;
}
