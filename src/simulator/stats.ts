/** One request in the statistics; never contains the Authorization header. */
export interface RequestRecord {
  /** Time of arrival (real time), ms since 1970 with fractions. */
  readonly at: number;
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly resource: string;
  readonly idempotencyKey: string | null;
  /** Number of the page in its chain; null unless a list. */
  readonly page: number | null;
  /** The fault that was applied. */
  readonly fault: string | null;
  /** Requests in flight when it arrived, itself included. */
  readonly inFlight: number;
  /** The status sent; 0 while in flight, after a reset, and without a response. */
  status: number;
}

export interface StatsSnapshot {
  readonly requests: number;
  /** Requests by method and resource, such as `GET projects`. */
  readonly byRoute: Readonly<Record<string, number>>;
  readonly inFlight: number;
  readonly maxConcurrent: number;
  /** The latest requests, oldest first. */
  readonly recent: readonly RequestRecord[];
}

/** Counts requests to the API. */
export class RequestStats {
  readonly #limit: number;
  #recent: RequestRecord[] = [];
  #byRoute = new Map<string, number>();
  #requests = 0;
  #inFlight = 0;
  #maxConcurrent = 0;

  /** Remembers `bound` to twice `bound` requests. */
  constructor(bound: number) {
    this.#limit = bound;
  }

  /** Counts a request in. @returns its record, and what to call once it has ended */
  begin(arrived: Omit<RequestRecord, 'inFlight'>): { record: RequestRecord; end: () => void } {
    this.#requests++;
    this.#inFlight++;
    const request = { ...arrived, inFlight: this.#inFlight };
    this.#maxConcurrent = Math.max(this.#maxConcurrent, this.#inFlight);
    const route = `${request.method} ${request.resource}`;
    this.#byRoute.set(route, (this.#byRoute.get(route) ?? 0) + 1);
    this.#recent.push(request);
    if (this.#recent.length >= 2 * this.#limit) this.#recent = this.#recent.slice(-this.#limit);
    let open = true;
    const end = (): void => {
      if (open) this.#inFlight--;
      open = false;
    };
    return { record: request, end };
  }

  snapshot(): StatsSnapshot {
    return {
      requests: this.#requests,
      byRoute: Object.fromEntries(this.#byRoute),
      inFlight: this.#inFlight,
      maxConcurrent: this.#maxConcurrent,
      recent: this.#recent.slice(-this.#limit).map((request) => ({ ...request })),
    };
  }

  /** Resets everything except the requests in flight. */
  reset(): void {
    this.#recent = [];
    this.#byRoute.clear();
    this.#requests = 0;
    this.#maxConcurrent = this.#inFlight;
  }
}
