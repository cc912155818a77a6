import { MINUTE_MS } from '../core/duration.js';

/** The receiver's log. No message or field contains a secret, a signature or a body. */
export interface WebhookLog {
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

const EVERY_MS = MINUTE_MS;

/** The accepted notices of one connection. */
interface Accepted {
  /** Since the receiver started. */
  total: number;
  /** Since the last line of the log, and their resources. */
  recent: number;
  readonly resources: Map<string, number>;
  timer: NodeJS.Timeout | null;
}

/** Writes few lines, however many notices and failing senders there are. */
export class NoticeLog {
  readonly #log: WebhookLog;
  readonly #now: () => number;
  readonly #warnings = new Map<string, { loggedAt: number; suppressed: number }>();
  readonly #accepted = new Map<string, Accepted>();

  constructor(log: WebhookLog, now: () => number) {
    this.#log = log;
    this.#now = now;
  }

  /** Logs each warning immediately, then at most once a minute with the number of repetitions. */
  warn(message: string): void {
    const now = this.#now();
    const seen = this.#warnings.get(message);
    if (seen !== undefined && now - seen.loggedAt < EVERY_MS) {
      seen.suppressed++;
      return;
    }
    const more = seen === undefined || seen.suppressed === 0 ? '' : ` (${seen.suppressed} more since then)`;
    // There are few distinct messages. If not, the map must not grow without limit.
    if (this.#warnings.size > 1_000) this.#warnings.clear();
    this.#warnings.set(message, { loggedAt: now, suppressed: 0 });
    this.#log.warn(message + more);
  }

  /** Logs that a handshake of a connection was answered. */
  handshake(connection: string, kind: string): void {
    this.#log.info(`answered the handshake "${kind}"`, { connection });
  }

  /**
   * Counts a notice that was answered with 202. The counts of a connection are logged: the first notice immediately, then at
   * most one line a minute, and what is left at the end.
   */
  accept(connection: string, resources: readonly string[]): void {
    const accepted = this.#accepted.get(connection) ?? {
      total: 0,
      recent: 0,
      resources: new Map(),
      timer: null,
    };
    this.#accepted.set(connection, accepted);
    accepted.total++;
    accepted.recent++;
    for (const name of resources) accepted.resources.set(name, (accepted.resources.get(name) ?? 0) + 1);
    if (accepted.timer === null) this.#write(connection, accepted);
  }

  /** Logs the counts that no line has shown yet. */
  close(): void {
    for (const [connection, accepted] of this.#accepted) {
      if (accepted.timer !== null) clearTimeout(accepted.timer);
      accepted.timer = null;
      if (accepted.recent > 0) this.#logCount(connection, accepted);
    }
  }

  #write(connection: string, accepted: Accepted): void {
    this.#logCount(connection, accepted);
    accepted.timer = setTimeout(() => {
      accepted.timer = null;
      if (accepted.recent > 0) this.#write(connection, accepted);
    }, EVERY_MS);
    accepted.timer.unref();
  }

  #logCount(connection: string, accepted: Accepted): void {
    const { total, recent, resources } = accepted;
    this.#log.info(`accepted ${recent} ${recent === 1 ? 'notice' : 'notices'}`, {
      connection,
      notices: recent,
      total,
      ...(resources.size === 0 ? {} : { resources: Object.fromEntries(resources) }),
    });
    accepted.recent = 0;
    resources.clear();
  }
}
