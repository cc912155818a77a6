import { isDeepStrictEqual } from 'node:util';
import { formatDuration, MINUTE_MS, SECOND_MS } from '../../core/duration.js';
import { OutOfReachError, withTimeout } from '../../core/reachability.js';
import { toUtcSeconds } from '../../core/utc-time.js';
import type { TemporalConfig } from './connect.js';
import { grpcMessage, isDenied, isNamespaceMissing } from './grpc.js';

/** How often a connection is probed. A worker's idle polls last a minute, so they show nothing. */
const PROBED_EVERY_MS = 10 * SECOND_MS;
const DEFAULTS = {
  everyMs: PROBED_EVERY_MS,
  /** Longest wait for a connection or a probe. A connection can accept requests and never answer. */
  noAnswerMs: 8 * SECOND_MS,
  /** Calls in flight on the earlier connection can end meanwhile. A retry on a closed one would end the process. */
  closedAfterMs: 30 * SECOND_MS,
  now: () => Date.now(),
};
/** How long Temporal may fail before the process counts as disconnected. */
const DISCONNECTED_AFTER_MS = 30 * SECOND_MS;
const LOGGED_EVERY_MS = MINUTE_MS;

export interface KeptConnectionOptions<C> extends Partial<typeof DEFAULTS> {
  /** The holder of the connection, such as `this worker`. */
  readonly holder: string;
  /** Reads address and credentials. Called before each probe, because files of credentials are replaced. */
  readonly read: () => TemporalConfig;
  readonly connect: (config: TemporalConfig) => Promise<C>;
  /** Resolves if Temporal accepts the holder on this connection. */
  readonly probe: (connection: C) => Promise<void>;
  readonly close: (connection: C) => Promise<void>;
  /** Makes the holder use another connection. The earlier one is closed afterwards. */
  readonly exchange?: ((next: C) => void) | undefined;
  readonly log: {
    info(message: string): void;
    warn(message: string): void;
  };
  /** Called after each probe, with the time since the first failure; 0 if Temporal accepts the holder. */
  readonly onProbe?: ((failingSeconds: number) => void) | undefined;
  /** `onGiveUp` is called once after this many milliseconds of failures. Default: never. */
  readonly giveUpAfterMs?: number | undefined;
  readonly onGiveUp?: ((error: OutOfReachError) => void) | undefined;
}

/**
 * The connection to Temporal of a process that runs for long. A probe every ten seconds shows whether Temporal still accepts
 * the process. If not, or if the address or the credentials have changed, a new connection is made with what the files
 * contain now, and replaces the current one if Temporal accepts it (docs/how-to/workers.md#if-temporal-does-not-answer).
 */
export class KeptConnection<C> {
  readonly #options: KeptConnectionOptions<C> & typeof DEFAULTS;
  #current: C;
  /** Earlier connections that will be closed. */
  readonly #earlier = new Map<C, NodeJS.Timeout>();
  #config: TemporalConfig;
  #timer: NodeJS.Timeout | null = null;
  #checking: Promise<void> | null = null;
  /** The check that follows the one in progress. */
  #again: Promise<void> | null = null;
  #closed = false;
  #failingSince: number | null = null;
  /** Whether the log shows the current failure. */
  #isLogged = false;
  #loggedAt = Number.NEGATIVE_INFINITY;
  #gaveUp = false;

  private constructor(options: KeptConnectionOptions<C>, current: C, config: TemporalConfig) {
    this.#options = { ...DEFAULTS, ...options };
    this.#current = current;
    this.#config = config;
  }

  /** Connects. @throws what `read` and `connect` throw */
  static async open<C>(options: KeptConnectionOptions<C>): Promise<KeptConnection<C>> {
    const config = options.read();
    return new KeptConnection(options, await options.connect(config), config);
  }

  get current(): C {
    return this.#current;
  }

  get address(): string {
    return this.#config.connectionOptions.address;
  }

  /** Whether every probe of the last 30 s or more has failed. */
  get isDisconnected(): boolean {
    return this.#failingMs() >= DISCONNECTED_AFTER_MS;
  }

  /** Begins to probe. */
  start(): void {
    if (this.#timer !== null || this.#closed) return;
    this.#timer = setInterval(() => {
      if (this.#checking === null) void this.check();
    }, this.#options.everyMs);
    this.#timer.unref();
    this.#options.onProbe?.(0);
  }

  /** Probes now, and uses changed credentials. Never rejects. */
  check(): Promise<void> {
    if (this.#checking === null) {
      this.#checking = this.#check().finally(() => {
        this.#checking = null;
      });
      return this.#checking;
    }
    // The check in progress may have read the credentials before they changed.
    this.#again ??= this.#checking.then(() => {
      this.#again = null;
      return this.check();
    });
    return this.#again;
  }

  /** Ends the probes, and closes the connection. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#checking;
    for (const connection of this.#earlier.keys()) await this.#closeEarlier(connection);
    await this.#options.close(this.#current);
  }

  async #check(): Promise<void> {
    if (this.#closed) return;
    const failure = await errorOf(this.#withinLimit(this.#options.probe(this.#current)));
    if (failure !== null) this.#failingSince ??= this.#options.now();
    const unused = await errorOf(this.#renew(failure !== null));
    if (this.#closed) return;
    // The later error tells more: a connection that was lost reports only that it was.
    if (failure !== null && unused !== null) this.#failed(unused);
    else this.#accepted();
    if (failure === null && unused !== null)
      this.#logAtTimes(
        `The changed address or credentials of Temporal are not used: ${this.#causeOf(unused)}. Temporal still accepts ${this.#options.holder} with the earlier ones.`,
      );
    this.#options.onProbe?.(this.#failingMs() / SECOND_MS);
  }

  /** Exchanges the connection if it has failed, or if the configuration has changed, for one that Temporal accepts. */
  async #renew(hasFailed: boolean): Promise<void> {
    const config = this.#options.read();
    const hasChanged = !isDeepStrictEqual(config, this.#config);
    if (!hasFailed && !hasChanged) return;
    const next = await this.#connect(config);
    const earlier = this.#current;
    try {
      await this.#withinLimit(this.#options.probe(next));
      if (this.#closed) throw new Error('closed');
      this.#options.exchange?.(next);
    } catch (error) {
      await this.#options.close(next).catch(() => {});
      throw error;
    }
    this.#current = next;
    this.#config = config;
    this.#options.log.info(
      `connected to Temporal at ${this.address} again${hasChanged ? ', because the address or the credentials have changed' : ''}`,
    );
    const closing = setTimeout(() => void this.#closeEarlier(earlier), this.#options.closedAfterMs);
    this.#earlier.set(earlier, closing.unref());
  }

  async #closeEarlier(connection: C): Promise<void> {
    clearTimeout(this.#earlier.get(connection));
    this.#earlier.delete(connection);
    await this.#options.close(connection).catch(() => {});
  }

  async #connect(config: TemporalConfig): Promise<C> {
    const connecting = this.#options.connect(config);
    try {
      return await this.#withinLimit(connecting);
    } catch (error) {
      // It may still succeed after the time limit.
      connecting.then((late) => this.#options.close(late)).catch(() => {});
      throw error;
    }
  }

  #withinLimit<T>(call: Promise<T>): Promise<T> {
    return withTimeout(call, this.#options.noAnswerMs);
  }

  #accepted(): void {
    const { holder, log } = this.#options;
    const seconds = Math.round(this.#failingMs() / SECOND_MS);
    if (this.#isLogged)
      log.info(`Temporal accepts ${holder} again, after ${formatDuration(seconds * SECOND_MS)}`);
    this.#failingSince = null;
    this.#isLogged = false;
  }

  #failed(error: unknown): void {
    const { holder, giveUpAfterMs, onGiveUp } = this.#options;
    const since = toUtcSeconds(this.#failingSince ?? this.#options.now());
    const what = `Temporal at ${this.address} has not accepted ${holder} since ${since}: ${this.#causeOf(error)}`;
    // The first failure is always logged.
    if (!this.#isLogged) this.#loggedAt = Number.NEGATIVE_INFINITY;
    this.#isLogged = true;
    this.#logAtTimes(`${what}. ${remedyOf(error)}`);
    if (giveUpAfterMs === undefined || this.#gaveUp || this.#failingMs() < giveUpAfterMs) return;
    this.#gaveUp = true;
    onGiveUp?.(new OutOfReachError(what, remedyOf(error)));
  }

  #causeOf(error: unknown): string {
    if (isDenied(error)) return `it rejects the credentials (${grpcMessage(error)})`;
    if (isNamespaceMissing(error)) return `it has no namespace "${this.#config.namespace}"`;
    return grpcMessage(error).replace(/\.$/, '');
  }

  #logAtTimes(message: string): void {
    const now = this.#options.now();
    if (now - this.#loggedAt < LOGGED_EVERY_MS) return;
    this.#loggedAt = now;
    this.#options.log.warn(message);
  }

  #failingMs(): number {
    return this.#failingSince === null ? 0 : this.#options.now() - this.#failingSince;
  }
}

function remedyOf(error: unknown): string {
  if (isDenied(error))
    return 'Renew the certificate or the API key in its file, which is read again every 10 s; a changed variable needs a restart.';
  if (isNamespaceMissing(error)) return 'Create the namespace, or correct TEMPORAL_NAMESPACE and restart.';
  return 'A new connection is tried every 10 s.';
}

/** What a call throws; `null` if it succeeds. */
function errorOf(call: Promise<void>): Promise<unknown> {
  return call.then(
    () => null,
    (error: unknown) => error,
  );
}
