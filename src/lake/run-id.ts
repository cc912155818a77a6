import type { RunId } from '../core/brands.js';

const RUN_ID = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z-[0-9a-f]{8}$/;

export function isRunId(text: string): text is RunId {
  return RUN_ID.test(text);
}

/** When the run started, milliseconds since 1970. @throws RangeError for anything that is no run id */
export function parseRunDate(runId: RunId): number {
  const [, year, month, day, hour, minute, second] = RUN_ID.exec(runId) ?? [];
  const start = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  if (Number.isNaN(start)) throw new RangeError(`"${runId}" is no run id, like 20261121T020000Z-1a2b3c4d`);
  return start;
}

/**
 * Whether a run began after one that was published. Of two runs of one second, names do not tell the order; but no
 * mirror begins another in the second of the one that it published last, so the other one was there before.
 */
export function beganAfter(run: RunId, published: RunId): boolean {
  const secondOf = (id: RunId): string => id.slice(0, id.indexOf('-'));
  return secondOf(run) > secondOf(published);
}

/** A clock that was far ahead once is not waited for. */
const LONGEST_WAIT_MS = 5000;

/**
 * Milliseconds that a mirror waits before it begins another run, so that each has a second of its own: then run ids
 * sort in the order of publishing, however fast runs follow one another.
 *
 * @param now milliseconds since 1970
 * @param before runs that the mirror began
 */
export function untilOwnSecond(now: number, before: readonly RunId[]): number {
  const waits = before.map((run) => parseRunDate(run) + 1000 - now);
  return Math.max(0, ...waits.filter((ms) => ms <= LONGEST_WAIT_MS));
}

/**
 * `20261121T020000Z-` and eight hexadecimal digits (DESIGN 6). Run ids sort in the order of publishing: two runs in
 * one second, of a mirror that does not yet wait for the next one, are a second apart in name.
 *
 * @param after the run that was published last
 * @param random begins with eight hexadecimal digits, such as a UUID
 */
export function newRunId(startedAt: number, after: RunId | null, random: string): RunId {
  const second = Math.floor(startedAt / 1000) * 1000;
  const last = after === null ? 0 : parseRunDate(after);
  // A clock that was far ahead once must not name all later runs.
  const time = second === last ? second + 1000 : second;
  const stamp = new Date(time).toISOString().replace(/[-:]|\.\d+/g, '');
  return `${stamp}-${random.slice(0, 8)}` as RunId;
}
