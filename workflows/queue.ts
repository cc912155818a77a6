import type { MirrorRequest, RunAnswer } from '../src/core/contract.js';

/** Answers that a mirror remembers, so that a request which comes again after its answer was lost is not run again. */
const REMEMBERED = 50;

/** What is done once for all waiting requests that want the same (DESIGN 2). */
export interface Batch {
  readonly first: MirrorRequest;
  readonly all: readonly MirrorRequest[];
}

/** Adds a request unless it waits already; the same id replaces where the answer goes. */
export function enqueue(waiting: readonly MirrorRequest[], request: MirrorRequest): MirrorRequest[] {
  const others = waiting.filter((other) => other.requestId !== request.requestId);
  if (others.length === waiting.length) return [...waiting, request];
  return waiting.map((other) => (other.requestId === request.requestId ? request : other));
}

/** The oldest request with all that are equal to it; they wait no longer. */
export function nextBatch(waiting: readonly MirrorRequest[]): { batch: Batch; rest: MirrorRequest[] } | null {
  const [first] = waiting;
  if (first === undefined) return null;
  const wish = wishOf(first);
  const equal = (other: MirrorRequest): boolean => wishOf(other) === wish;
  return { batch: { first, all: waiting.filter(equal) }, rest: waiting.filter((other) => !equal(other)) };
}

/** What is wanted, whoever wants it and when. */
function wishOf(request: MirrorRequest): string {
  const { requestId: _, replyTo: __, ...wish } = request;
  if (wish.kind !== 'run') return JSON.stringify(wish);
  const { notify: ___, ...run } = wish;
  return JSON.stringify({ ...run, nominalStart: 0 });
}

export function remember(answered: readonly RunAnswer[], answer: RunAnswer): RunAnswer[] {
  return [...answered.filter((other) => other.requestId !== answer.requestId), answer].slice(-REMEMBERED);
}

export function answerOf(answered: readonly RunAnswer[], requestId: string): RunAnswer | undefined {
  return answered.find((answer) => answer.requestId === requestId);
}
