import type { RunAnswer, RunRequest } from '../src/core/contract.js';

/** Answers that a mirror remembers, so that a request which comes again after its answer was lost is not run again. */
const REMEMBERED = 50;

/** A run is one for all waiting requests that it satisfies: they want the same mode (DESIGN 2). */
export interface Batch {
  readonly first: RunRequest;
  readonly all: readonly RunRequest[];
}

/** Adds a request unless it waits already; the same id replaces where the answer goes. */
export function enqueue(waiting: readonly RunRequest[], request: RunRequest): RunRequest[] {
  const others = waiting.filter((other) => other.requestId !== request.requestId);
  if (others.length === waiting.length) return [...waiting, request];
  return waiting.map((other) => (other.requestId === request.requestId ? request : other));
}

/** The oldest request with all that are equal to it; they wait no longer. */
export function nextBatch(waiting: readonly RunRequest[]): { batch: Batch; rest: RunRequest[] } | null {
  const [first] = waiting;
  if (first === undefined) return null;
  const equal = (other: RunRequest): boolean =>
    other.mode === first.mode &&
    other.reconcile === first.reconcile &&
    other.adopt === first.adopt &&
    other.allowDeletes === first.allowDeletes &&
    other.since === first.since;
  return { batch: { first, all: waiting.filter(equal) }, rest: waiting.filter((other) => !equal(other)) };
}

export function remember(answered: readonly RunAnswer[], answer: RunAnswer): RunAnswer[] {
  return [...answered.filter((other) => other.requestId !== answer.requestId), answer].slice(-REMEMBERED);
}

export function answerOf(answered: readonly RunAnswer[], requestId: string): RunAnswer | undefined {
  return answered.find((answer) => answer.requestId === requestId);
}
