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
