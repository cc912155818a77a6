import { mix } from '../data/deterministic.js';
import type { Call } from '../http/call.js';
import type { ActiveRule, Fault, FaultPlan, FaultRule } from './fault-types.js';

interface RuleState {
  readonly id: string;
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
    this.#rules.set(id, {
      id,
      rule,
      matched: 0,
      hits: 0,
      remaining: rule.remaining ?? Number.POSITIVE_INFINITY,
      chain,
    });
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
    return [...this.#rules.values()].map(({ id, rule, hits, remaining }) => ({
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
export function matches(match: NonNullable<FaultRule['match']>, call: Call): boolean {
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
  if (fault.kind === 'cursor-expired') return isList(call) && call.cursor !== null;
  if (fault.kind === 'cursor-loop') return isList(call) && (pageOf(call) ?? 0) >= fault.length;
  return fault.kind !== 'empty-page' || isList(call);
}

const isList = (call: Call): boolean =>
  call.method === 'GET' && call.resource !== '' && call.segments?.length === 0;

/** Number of the page, within its chain, that a list request requests. */
export function pageOf(call: Call): number | undefined {
  if (!isList(call) || call.cursor === 'invalid') return undefined;
  return call.cursor?.page ?? 0;
}
