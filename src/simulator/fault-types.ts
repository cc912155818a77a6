/** Which requests a rule is for; what is left out matches anything. */
export interface FaultMatch {
  readonly method?: string;
  /** First path segment below the base path, such as `time-entries`. */
  readonly resource?: string;
  /** Text that path and query contain. */
  readonly path?: string;
  /** The Idempotency-Key that a request carries, so that a fault stays with one row. */
  readonly idempotencyKey?: string;
  /** Number of the page within its chain; the request without a cursor asks for page 0. */
  readonly page?: number;
  /** Requests with a cursor only, or without one only. */
  readonly cursor?: 'with' | 'without';
  /** Only the nth request (from 1) that the rest of the rule matches. */
  readonly nth?: number;
  /** Only every nth request that the rest of the rule matches. */
  readonly every?: number;
}

/** A status line of the service's or a proxy's choice; the request is not carried out. */
export interface StatusFault {
  readonly kind: 'status';
  readonly status: number;
  /** Retry-After: a number of seconds, text as it stands, or an HTTP date so many ms from the service's now. */
  readonly retryAfter?: number | string | { readonly inMs: number };
  /** Default `{"message": ...}`. */
  readonly body?: string;
  readonly contentType?: string;
}

/** What goes wrong. */
export type Fault =
  | StatusFault
  /** The connection is reset before the request is carried out. */
  | { readonly kind: 'reset' }
  /** The connection is reset after half of the body. */
  | { readonly kind: 'reset-mid-body' }
  /** Half of the JSON, with a Content-Length that fits. */
  | { readonly kind: 'truncated-json' }
  /** 200 with a page of HTML, as captive portals and proxies do. */
  | { readonly kind: 'html'; readonly body?: string }
  /** 200 with JSON that is no list envelope; default `{"items": []}`. */
  | { readonly kind: 'wrong-envelope'; readonly body?: string }
  /** The body in pieces of `bytes` (default 64), one every `everyMs` (default 10). */
  | { readonly kind: 'drip'; readonly bytes?: number; readonly everyMs?: number }
  /** Nothing is ever answered. */
  | { readonly kind: 'hang' }
  /** The request waits so long first; goes together with any other fault. */
  | { readonly kind: 'latency'; readonly ms: number }
  /** Content-Encoding: gzip with a damaged body. */
  | { readonly kind: 'bad-gzip' }
  /** Default status 307. */
  | { readonly kind: 'redirect'; readonly location: string; readonly status?: number }
  /** 400 for a cursor of `chain`, or of the first chain that comes by; chains begun later are not hit. */
  | { readonly kind: 'cursor-expired'; readonly chain?: number; readonly status?: number }
  /** `nextCursor` is the cursor asked with (length 1, A-A) or the one before it (length 2, A-B-A). */
  | { readonly kind: 'cursor-loop'; readonly length: 1 | 2 }
  /** No records and a `nextCursor` that goes on where this page would have: give `page` or `remaining`, or it never ends. */
  | { readonly kind: 'empty-page' }
  /** The request is carried out and the connection reset instead of an answer. */
  | { readonly kind: 'lose-response' };

/** A fault and when it happens. */
export interface FaultRule {
  readonly match?: FaultMatch;
  /** Share of the matching requests, 0 to 1, drawn from the seed. Default 1. */
  readonly probability?: number;
  /** Times that it still happens. Default without end. */
  readonly remaining?: number;
  readonly fault: Fault;
}

/** A rule in force. */
export interface ActiveRule extends FaultRule {
  readonly id: string;
  /** How often it happened. */
  readonly hits: number;
}

/** What is to go wrong with one request. */
export interface FaultPlan {
  readonly latencyMs: number;
  readonly fault: Fault | null;
}
