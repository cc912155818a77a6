/** How long something unused stays open, ms. Within one export a connection is used more often than that. */
export const IDLE_MS = 20_000;

interface IdleOptions<T> {
  open(): T;
  close(opened: T): void | Promise<void>;
  /** It is closed after this many milliseconds without use. Default: `IDLE_MS`. */
  readonly idleMs?: number | undefined;
}

/**
 * Something with sockets and caches that is opened on first use and closed when it has been idle for a time. A worker
 * has a thousand connections in its configuration, and uses a few of them at a time.
 */
export class IdleResource<T> {
  readonly #options: IdleOptions<T>;
  #opened: T | null = null;
  #users = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: IdleOptions<T>) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#opened !== null;
  }

  /** Uses the resource. It stays open at least until the work has ended. */
  async use<R>(work: (opened: T) => Promise<R>): Promise<R> {
    const opened = this.acquire();
    try {
      return await work(opened);
    } finally {
      this.release();
    }
  }

  /** For work that no single promise covers. Call `release` exactly once afterwards. */
  acquire(): T {
    this.#users++;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#opened ??= this.#options.open();
    return this.#opened;
  }

  release(): void {
    this.#users--;
    if (this.#users > 0 || this.#opened === null) return;
    this.#timer = setTimeout(() => void this.close().catch(() => {}), this.#options.idleMs ?? IDLE_MS);
    this.#timer.unref();
  }

  /** Closes it now. It is opened again when it is used again. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const opened = this.#opened;
    this.#opened = null;
    if (opened !== null) await this.#options.close(opened);
  }
}
