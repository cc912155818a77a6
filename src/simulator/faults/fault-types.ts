/** The requests that a rule applies to; an absent property matches any request. */
export interface FaultMatch {
  readonly method?: string;
  /** First path segment below the base path, such as `time-entries`. */
  readonly resource?: string;
  /** Text contained in the path and query. */
  readonly path?: string;
  /** The Idempotency-Key of a request, to apply a fault to one row. */
  readonly idempotencyKey?: string;
  /** Number of the page within its chain; a request without a cursor requests page 0. */
  readonly page?: number;
  /** Only requests with a cursor, or only those without. */
  readonly cursor?: 'with' | 'without';
  /** Only the nth request (starting at 1) that matches the rest of the rule. */
  readonly nth?: number;
  /** Only every nth request that matches the rest of the rule. */
  readonly every?: number;
}

/** A response with this status; the request is not executed. */
export interface StatusFault {
  readonly kind: 'status';
  readonly status: number;
  /** Retry-After: a number of seconds, a literal text, or an HTTP date `inMs` after the service's current time. */
  readonly retryAfter?: number | string | { readonly inMs: number };
  /** Default `{"message": ...}`. */
  readonly body?: string;
  readonly contentType?: string;
}

/** A fault. */
export type Fault =
  | StatusFault
  /** The connection is reset before the request is executed. */
  | { readonly kind: 'reset' }
  /** The connection is reset after half of the body. */
  | { readonly kind: 'reset-mid-body' }
  /** Half of the JSON, with a matching Content-Length. */
  | { readonly kind: 'truncated-json' }
  /** 200 with an HTML page, as sent by captive portals and proxies. */
  | { readonly kind: 'html'; readonly body?: string }
  /** 200 with JSON that is not a list envelope; default `{"items": []}`. */
  | { readonly kind: 'wrong-envelope'; readonly body?: string }
  /** The body in chunks of `bytes` (default 64), one every `everyMs` (default 10). */
  | { readonly kind: 'drip'; readonly bytes?: number; readonly everyMs?: number }
  /** No response. */
  | { readonly kind: 'hang' }
  /** Delays the request; can be combined with any other fault. */
  | { readonly kind: 'latency'; readonly ms: number }
  /** Content-Encoding: gzip with a damaged body. */
  | { readonly kind: 'bad-gzip' }
  /** Default status 307. */
  | { readonly kind: 'redirect'; readonly location: string; readonly status?: number }
  /** 400 for a cursor of `chain`, or of the first chain that matches; chains that start later are not affected. */
  | { readonly kind: 'cursor-expired'; readonly chain?: number; readonly status?: number }
  /** `nextCursor` is the requested cursor (length 1, A-A) or the one before it (length 2, A-B-A). */
  | { readonly kind: 'cursor-loop'; readonly length: 1 | 2 }
  /** No records, and a `nextCursor` for this page's records. Without `page` or `remaining`, the chain never ends. */
  | { readonly kind: 'empty-page' }
  /** The request is executed, and the connection is reset instead of a response. */
  | { readonly kind: 'lose-response' };

/** A fault and the requests that it applies to. */
export interface FaultRule {
  readonly match?: FaultMatch;
  /** Fraction of the matching requests, 0 to 1, drawn from the seed. Default 1. */
  readonly probability?: number;
  /** Remaining number of applications. Default: unlimited. */
  readonly remaining?: number;
  readonly fault: Fault;
}

/** An active rule. */
export interface ActiveRule extends FaultRule {
  readonly id: string;
  /** Number of applications. */
  readonly hits: number;
}

/** The faults of one request. */
export interface FaultPlan {
  readonly latencyMs: number;
  readonly fault: Fault | null;
}
