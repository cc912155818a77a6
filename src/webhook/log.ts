/** Where the receiver tells what happened. Nothing that it is told holds a secret, a signature or a body. */
export interface WebhookLog {
  info(message: string): void;
  warn(message: string): void;
}

const EVERY_MS = 60_000;

/** Tells of each trouble at once and then at most every minute, with how often it came: senders may be many. */
export class TroubleLog {
  readonly #log: WebhookLog;
  readonly #now: () => number;
  readonly #seen = new Map<string, { toldAt: number; untold: number }>();

  constructor(log: WebhookLog, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  warn(message: string): void {
    const now = this.#now();
    const seen = this.#seen.get(message);
    if (seen !== undefined && now - seen.toldAt < EVERY_MS) {
      seen.untold++;
      return;
    }
    const more = seen === undefined || seen.untold === 0 ? '' : ` (${seen.untold} more since then)`;
    // Messages are few; should they not be, nothing is kept for ever.
    if (this.#seen.size > 1_000) this.#seen.clear();
    this.#seen.set(message, { toldAt: now, untold: 0 });
    this.#log.warn(message + more);
  }
}
