/** One request as the statistics remember it: never its Authorization header. */
export interface RequestRecord {
  /** Arrival, real time, ms since 1970 with fractions. */
  readonly at: number;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly resource: string;
  readonly idempotencyKey: string | null;
  /** Number of the page in its chain, for lists. */
  readonly page: number | null;
  /** The fault that happened to it. */
  readonly fault: string | null;
  /** What was sent; 0 while under way, and when the connection was reset or never answered. */
  status: number;
}

/** A copy of the statistics. */
export interface StatsSnapshot {
  readonly requests: number;
  /** Requests by method and resource, such as `GET projects`. */
  readonly byRoute: Readonly<Record<string, number>>;
  readonly inFlight: number;
  readonly maxConcurrent: number;
  /** The latest requests, oldest first. */
  readonly recent: readonly RequestRecord[];
}

/** Counts the requests to the API; the control requests are not counted. */
export class RequestStats {
  readonly #bound: number;
  #recent: RequestRecord[] = [];
  #byRoute = new Map<string, number>();
  #requests = 0;
  #inFlight = 0;
  #maxConcurrent = 0;

  /** Remembers `bound` to twice `bound` requests. */
  constructor(bound: number) {
    this.#bound = bound;
  }

  /** Counts a request in; call the answer once it is over. */
  begin(request: RequestRecord): () => void {
    this.#requests++;
    this.#inFlight++;
    this.#maxConcurrent = Math.max(this.#maxConcurrent, this.#inFlight);
    const route = `${request.method} ${request.resource}`;
    this.#byRoute.set(route, (this.#byRoute.get(route) ?? 0) + 1);
    this.#recent.push(request);
    if (this.#recent.length >= 2 * this.#bound) this.#recent = this.#recent.slice(-this.#bound);
    let open = true;
    return () => {
      if (open) this.#inFlight--;
      open = false;
    };
  }

  snapshot(): StatsSnapshot {
    return {
      requests: this.#requests,
      byRoute: Object.fromEntries(this.#byRoute),
      inFlight: this.#inFlight,
      maxConcurrent: this.#maxConcurrent,
      recent: this.#recent.slice(-this.#bound).map((request) => ({ ...request })),
    };
  }

  /** Forgets everything but the requests under way. */
  reset(): void {
    this.#recent = [];
    this.#byRoute.clear();
    this.#requests = 0;
    this.#maxConcurrent = this.#inFlight;
  }
}
