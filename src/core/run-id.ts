import type { EpochMs, RunId } from './brands.js';
import { parseIsoTime, toTimeStamp } from './utc-time.js';

const RUN_ID = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z-[0-9a-f]{8}$/;

/**
 * Whether a text is a run id, such as `20261121T020000Z-1a2b3c4d`.
 *
 * @example
 * const runId = process.argv[2] ?? '';
 * if (!isRunId(runId)) throw new Error('give a run id');
 */
export function isRunId(text: string): text is RunId {
  return startOf(text) !== null;
}

/** The start time of a run. @throws RangeError for any other text */
export function parseRunDate(runId: RunId): EpochMs {
  const start = startOf(runId);
  if (start === null)
    throw new RangeError(`"${runId}" is not a run id. Run ids look like 20261121T020000Z-1a2b3c4d`);
  return start;
}

function startOf(text: string): number | null {
  const [, year, month, day, hour, minute, second] = RUN_ID.exec(text) ?? [];
  return parseIsoTime(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

/**
 * Whether a run started after a published one. The ids of two runs of the same second do not show their order. But a mirror
 * starts no run in the second of its last published run, so the other run is the earlier one.
 */
export function beganAfter(run: RunId, published: RunId): boolean {
  return secondOf(run) > secondOf(published);
}

/** The id with the latest second; `null` for none. */
export function newestId(ids: readonly (RunId | null | undefined)[]): RunId | null {
  return ids.reduce<RunId | null>(
    (newest, id) => (id != null && (newest === null || beganAfter(id, newest)) ? id : newest),
    null,
  );
}

/** Whether two ids are of attempts at one request. A mirror starts no two requests in the same second. */
export function haveSameRequest(a: RunId, b: RunId): boolean {
  return secondOf(a) === secondOf(b);
}

function secondOf(id: RunId): string {
  return id.slice(0, id.indexOf('-'));
}

/** If the clock was once far ahead, the mirror does not wait until that time is reached. */
const MAX_WAIT_MS = 5000;

/**
 * Milliseconds that a mirror waits before it starts another run, so that no two runs start in the same second. Run ids then
 * sort in the order of publishing, even if runs follow each other quickly.
 *
 * @param before earlier runs of the mirror
 */
export function untilOwnSecond(now: EpochMs, before: readonly (RunId | null | undefined)[]): number {
  const waits = before.flatMap((run) => (run ? [parseRunDate(run) + 1000 - now] : []));
  return Math.max(0, ...waits.filter((ms) => ms <= MAX_WAIT_MS));
}

/**
 * `20261121T020000Z-` and eight hexadecimal digits (docs/reference/lake.md). Ids of runs and purges never go back, even if the
 * clock does: a new id has a later second than each id that the mirror knows. So they sort in the order of publishing.
 *
 * @param after the newest known id
 * @param random a text that starts with eight hexadecimal digits, such as a UUID
 */
export function newRunId(startedAt: number, after: RunId | null, random: string): RunId {
  const second = Math.floor(startedAt / 1000) * 1000;
  const time = after === null ? second : Math.max(second, parseRunDate(after) + 1000);
  return `${toTimeStamp(time)}-${random.slice(0, 8)}` as RunId;
}

/**
 * The id of an attempt that does a whole run in memory. Each attempt has its own id, so that a delayed request of one attempt
 * never touches an object of another (docs/internals/recovery.md#writes). It has the second of its request.
 *
 * @param request the run id that the request would have in the lake
 * @param random a text that starts with eight hexadecimal digits
 */
export function attemptRunId(request: RunId, random: string): RunId {
  return `${secondOf(request)}-${random.slice(0, 8)}` as RunId;
}
