import type { Millis } from '../../core/brands.js';

/** What an activity is about, for the log. */
type Subject = Readonly<Record<string, string>>;

interface LoopWatchOptions {
  readonly warn: (message: string, fields: Subject) => void;
  /** Monotonic. */
  readonly now?: () => Millis;
  /** CPU time of this process. */
  readonly cpuMs?: () => Millis;
}

/** A shorter block is not logged, ms. */
const BLOCKED_MS = 5_000;
const CHECK_MS = 500;
/** No other check so soon after one: hundreds of short activities would take longer to check than to run. */
const PAUSE_MS = 100;
/** With less CPU time, the process was suspended, or the machine slept. */
const MIN_CPU_MS = 1_000;

/**
 * Logs when the event loop of a worker was blocked, so that no activity of any connection could run, with the activities that
 * were running. One of them has blocked it.
 */
export class LoopWatch {
  readonly #running = new Set<Subject>();
  readonly #warn: LoopWatchOptions['warn'];
  readonly #now: () => number;
  readonly #cpuMs: () => number;
  #last: { at: number; cpuMs: number };
  #timer: NodeJS.Timeout | null = null;

  constructor({ warn, now = () => performance.now(), cpuMs = processCpuMs }: LoopWatchOptions) {
    this.#warn = warn;
    this.#now = now;
    this.#cpuMs = cpuMs;
    this.#last = { at: now(), cpuMs: cpuMs() };
  }

  /** Runs an activity. */
  async run<T>(subject: Subject, activity: () => Promise<T>): Promise<T> {
    this.#check();
    this.#running.add(subject);
    this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
    try {
      return await activity();
    } finally {
      // The activity may have ended before the timer could run.
      this.#check();
      this.#running.delete(subject);
      if (this.#running.size === 0) this.#stop();
    }
  }

  #check(): void {
    const { at, cpuMs } = this.#last;
    const now = this.#now();
    if (now - at < PAUSE_MS) return;
    this.#last = { at: now, cpuMs: this.#cpuMs() };
    const blockedMs = now - at - (this.#timer === null ? Number.POSITIVE_INFINITY : CHECK_MS);
    if (blockedMs < BLOCKED_MS || this.#last.cpuMs - cpuMs < MIN_CPU_MS) return;
    const message = `the event loop was blocked for ${(blockedMs / 1000).toFixed(1)} s while this activity was running`;
    for (const subject of this.#running) this.#warn(message, subject);
  }

  #stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }
}

function processCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
