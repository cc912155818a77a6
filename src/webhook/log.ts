import { MINUTE_MS } from '../core/duration.js';

/** The receiver's log. No message contains a secret, a signature or a body. */
export interface WebhookLog {
  info(message: string): void;
  warn(message: string): void;
}

const EVERY_MS = MINUTE_MS;

/** Logs each warning at once, then at most once a minute with the number of repetitions, because many senders may fail. */
export class WarningLog {
  readonly #log: WebhookLog;
  readonly #now: () => number;
  readonly #seen = new Map<string, { loggedAt: number; suppressed: number }>();

  constructor(log: WebhookLog, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  warn(message: string): void {
    const now = this.#now();
    const seen = this.#seen.get(message);
    if (seen !== undefined && now - seen.loggedAt < EVERY_MS) {
      seen.suppressed++;
      return;
    }
    const more = seen === undefined || seen.suppressed === 0 ? '' : ` (${seen.suppressed} more since then)`;
    // There are few distinct messages. If not, the map must not grow without limit.
    if (this.#seen.size > 1_000) this.#seen.clear();
    this.#seen.set(message, { loggedAt: now, suppressed: 0 });
    this.#log.warn(message + more);
  }
}
