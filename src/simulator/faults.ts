import { mix } from './data/deterministic.js';
import type { Call } from './http/call.js';

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

export type Fault =
  | StatusFault
  /** The connection is reset before the request is executed. */
  | { readonly kind: 'reset' }
  /** The connection is reset after half of the body. */
  | { readonly kind: 'reset-mid-body' }
  /** Half of the JSON, with a matching Content-Length. */
  | { readonly kind: 'truncated-json' }
  /** The response, with a head that breaks HTTP by this line; the connection is closed after it. */
  | { readonly kind: 'broken-head'; readonly line: string }
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

export interface ActiveRule extends FaultRule {
  readonly id: string;
  /** Number of applications. */
  readonly hits: number;
}

export interface FaultPlan {
  readonly latencyMs: number;
  readonly fault: Fault | null;
}

interface RuleState {
  readonly rule: FaultRule;
  matched: number;
  hits: number;
  remaining: number;
  chain: number | undefined;
}

/** The active fault rules. The first matching rule applies; latencies add up and combine with any other fault. */
export class FaultRules {
  readonly #seed: number;
  #rules = new Map<string, RuleState>();
  #added = 0;
  #drawn = 0;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Activates a rule and returns its id. */
  add(rule: FaultRule): string {
    const id = `fault-${++this.#added}`;
    const chain = rule.fault.kind === 'cursor-expired' ? rule.fault.chain : undefined;
    const { remaining = Number.POSITIVE_INFINITY } = rule;
    this.#rules.set(id, { rule, matched: 0, hits: 0, remaining, chain });
    return id;
  }

  /** Removes a rule; false if it does not exist. */
  remove(id: string): boolean {
    return this.#rules.delete(id);
  }

  clear(): void {
    this.#rules.clear();
  }

  /** All rules with their number of applications, including those with none remaining. */
  list(): ActiveRule[] {
    return [...this.#rules].map(([id, { rule, hits, remaining }]) => ({
      ...rule,
      id,
      hits,
      ...(rule.remaining === undefined ? {} : { remaining }),
    }));
  }

  /** Number of applications of a rule; 0 for an unknown rule. */
  hits(id: string): number {
    return this.#rules.get(id)?.hits ?? 0;
  }

  /** Selects the faults of a request and counts them. */
  plan(call: Call): FaultPlan {
    let latencyMs = 0;
    let fault: Fault | null = null;
    for (const state of this.#rules.values()) {
      const isLatency = state.rule.fault.kind === 'latency';
      if ((fault !== null && !isLatency) || !this.#applies(state, call)) continue;
      state.hits++;
      state.remaining--;
      if (state.rule.fault.kind === 'latency') latencyMs += state.rule.fault.ms;
      else fault = state.rule.fault;
    }
    return { latencyMs, fault };
  }

  #applies(state: RuleState, call: Call): boolean {
    const { match = {}, probability = 1, fault } = state.rule;
    if (state.remaining <= 0 || !matches(match, call) || !canApply(fault, call)) return false;
    state.matched++;
    if (match.nth !== undefined && state.matched !== match.nth) return false;
    if (match.every !== undefined && state.matched % match.every !== 0) return false;
    if (probability < 1 && mix(this.#seed, this.#drawn++) / 2 ** 32 >= probability) return false;
    if (fault.kind !== 'cursor-expired' || call.cursor === null || call.cursor === 'invalid') return true;
    state.chain ??= call.cursor.chain;
    return state.chain === call.cursor.chain;
  }
}

/** Whether a request matches a rule, except for `nth` and `every`, which the caller counts. */
function matches(match: NonNullable<FaultRule['match']>, call: Call): boolean {
  if (match.method !== undefined && match.method !== call.method) return false;
  if (match.resource !== undefined && match.resource !== call.resource) return false;
  if (match.path !== undefined && !call.target.includes(match.path)) return false;
  if (match.idempotencyKey !== undefined && match.idempotencyKey !== call.headers['idempotency-key'])
    return false;
  if (match.cursor !== undefined && (match.cursor === 'with') !== (call.cursor !== null)) return false;
  return match.page === undefined || pageOf(call) === match.page;
}

/** Cursor faults apply only to lists; `cursor-expired` and `cursor-loop` only to requests with a cursor. */
function canApply(fault: Fault, call: Call): boolean {
  if (fault.kind === 'cursor-expired') return isListRequest(call) && call.cursor !== null;
  if (fault.kind === 'cursor-loop') return isListRequest(call) && (pageOf(call) ?? 0) >= fault.length;
  return fault.kind !== 'empty-page' || isListRequest(call);
}

export const isListRequest = (call: Call): boolean =>
  call.method === 'GET' && call.resource !== '' && call.segments?.length === 0;

/** Number of the page, within its chain, that a list request requests. */
export function pageOf(call: Call): number | undefined {
  if (!isListRequest(call) || call.cursor === 'invalid') return undefined;
  return call.cursor?.page ?? 0;
}

/** The request that a hook waits for; an absent property matches any request. */
export type HookMatch = Omit<FaultMatch, 'nth' | 'every'>;

/** Runs before the response. The response waits for the promise. */
export type HookAction = () => void | Promise<void>;

/** Actions that run between a request and its response, each for the first matching request. */
export class Hooks {
  #waiting: { readonly match: HookMatch; readonly action: HookAction }[] = [];

  add(match: HookMatch, action: HookAction): void {
    this.#waiting.push({ match, action });
  }

  /** Runs the actions that match this request, in the order they were added. */
  async run(call: Call): Promise<void> {
    const due = this.#waiting.filter(({ match }) => matches(match, call));
    if (due.length === 0) return;
    this.#waiting = this.#waiting.filter((hook) => !due.includes(hook));
    for (const { action } of due) await action();
  }
}
