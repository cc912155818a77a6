import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExportResult, RunReport } from '../../core/contract/index.js';
import { MINUTE_MS } from '../../core/duration.js';
import { parseRunDate } from '../../core/run-id.js';

/** A period when no server and no worker of this folder ran; milliseconds since 1970. */
type Pause = readonly [from: number, to: number];

const HEARTBEAT_MS = 5_000;
/** A heartbeat later than this means that the machine slept. */
const SLEEP_THRESHOLD_MS = MINUTE_MS;
const MAX_PAUSES = 100;

/** Records when `export --local` did not run although it had state: between commands, or while the machine slept. */
export class PauseLog {
  readonly #file: string;
  readonly #timer: NodeJS.Timeout;
  #aliveAt: number;
  #pauses: readonly Pause[];

  private constructor(file: string, pauses: readonly Pause[]) {
    this.#file = file;
    this.#pauses = pauses;
    this.#aliveAt = Date.now();
    this.#write();
    this.#timer = setInterval(() => this.#heartbeat(), HEARTBEAT_MS);
    this.#timer.unref();
  }

  /** Records the pause since the last command in this folder, then a heartbeat every few seconds. */
  static open(folder: string): PauseLog {
    const file = join(folder, 'pauses.json');
    const { aliveAt, pauses } = read(file);
    const last: readonly Pause[] = aliveAt === null ? [] : [[aliveAt, Date.now()]];
    return new PauseLog(file, [...pauses, ...last]);
  }

  /** Total length of all pauses since a time, in milliseconds. */
  since(time: number): number {
    this.#heartbeat();
    return this.#pauses.reduce((sum, [from, to]) => sum + Math.max(0, to - Math.max(from, time)), 0);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#heartbeat();
  }

  #heartbeat(): void {
    const now = Date.now();
    if (now - this.#aliveAt > SLEEP_THRESHOLD_MS) this.#pauses = [...this.#pauses, [this.#aliveAt, now]];
    this.#aliveAt = now;
    this.#write();
  }

  /** If the file cannot be written, a pause is only recorded too long or not at all. */
  #write(): void {
    try {
      const text = JSON.stringify({ aliveAt: this.#aliveAt, pauses: this.#pauses.slice(-MAX_PAUSES) });
      writeFileSync(`${this.#file}.new`, text, { mode: 0o600 });
      renameSync(`${this.#file}.new`, this.#file);
    } catch {
      // For example a full disk, which the server reports.
    }
  }
}

/**
 * Whether an export failed only because it was paused. A run gives up after `retries.giveUpAfter`, and the server counts
 * the pause, when no attempt was possible.
 *
 * @param startedAt start of the export, milliseconds since 1970
 * @param pausedSince total length of all pauses since a time, in milliseconds
 */
export function failedByPause(
  { runs, outcome }: ExportResult,
  startedAt: number,
  now: number,
  giveUpAfterMs: number,
  pausedSince: (time: number) => number,
): boolean {
  const unpublished = runs.filter((run) => run.outcome !== 'published');
  return outcome === 'failed' && unpublished.length > 0 && unpublished.every(isByPause);

  function isByPause(run: RunReport): boolean {
    // All other errors have another reason than the time limit.
    if (run.error?.type !== 'Transient' && run.error?.type !== 'Failed') return false;
    // Without a run, the export reached its time limit before a run started.
    const began = run.runId === null ? startedAt : parseRunDate(run.runId);
    const paused = pausedSince(began);
    if (run.runId === null) return paused >= Math.min(PLAN_LIMIT_MS, giveUpAfterMs);
    const worked = now - began - paused;
    return paused >= giveUpAfterMs || (now - began >= giveUpAfterMs && worked < giveUpAfterMs);
  }
}

/** Time limit for planning an export; the worker reads its configuration meanwhile. */
const PLAN_LIMIT_MS = 10 * MINUTE_MS;

function read(file: string): { aliveAt: number | null; pauses: readonly Pause[] } {
  try {
    const found = JSON.parse(readFileSync(file, 'utf8')) as { aliveAt?: unknown; pauses?: unknown };
    const { aliveAt, pauses } = found;
    if (typeof aliveAt !== 'number' || !Array.isArray(pauses) || !pauses.every(isPause))
      throw new TypeError();
    return { aliveAt, pauses };
  } catch {
    // The first command in this folder, or a damaged file: no pauses are known.
    return { aliveAt: null, pauses: [] };
  }
}

function isPause(value: unknown): value is Pause {
  return Array.isArray(value) && value.length === 2 && value.every((time) => typeof time === 'number');
}
