import type { EpochMs } from '../core/brands.js';
import type { MirrorRequest, MirrorState, RunAnswer, RunRequest, SyncInput } from '../core/contract/index.js';
import { runSpec } from '../core/mirror-requests.js';
import { syncInputProblem } from '../core/signal-checks.js';
import { jsonTextBytes } from '../core/text-budget.js';
import { parseSince } from '../core/utc-time.js';

/** Answers kept in the state, so that a repeated request whose answer was lost does not start a second run. */
const MAX_ANSWERS = 50;

/** Equal waiting requests without a rollback or purge between them, served by one run (docs/explanation/how-it-works.md#requests). */
export interface Batch {
  /**
   * The oldest request, with the latest nominal start of the batch, so that a nightly run that joins an older request gets
   * its own `dt`. It is background work only if all requests are.
   */
  readonly first: MirrorRequest;
  readonly all: readonly MirrorRequest[];
}

/** Bytes of the waiting requests, about. Temporal refuses a state of 2 MiB. */
const MAX_WAITING_BYTES = 512 * 1024;
/** Bytes of a request in addition to its ids and its key, about. */
const REQUEST_BYTES = 400;

/** Whether no further request may wait. One that waits already can be repeated. */
export function isFull(waiting: readonly MirrorRequest[], request: MirrorRequest): boolean {
  if (waiting.some(({ requestId }) => requestId === request.requestId)) return false;
  return bytesOf(request) + waiting.reduce((sum, other) => sum + bytesOf(other), 0) > MAX_WAITING_BYTES;
}

function bytesOf(request: MirrorRequest): number {
  const dryRun = request.kind === 'run' && request.dryRun ? [JSON.stringify(request.dryRun)] : [];
  const key = request.kind === 'purge' ? request.key : [];
  const texts = [request.requestId, request.replyTo ?? '', ...key, ...dryRun];
  return texts.reduce((sum, text) => sum + jsonTextBytes(text), REQUEST_BYTES);
}

/** Adds a request. A request with an id that is already waiting replaces the earlier one and keeps its place. */
export function enqueue(waiting: readonly MirrorRequest[], request: MirrorRequest): MirrorRequest[] {
  const others = waiting.filter((other) => other.requestId !== request.requestId);
  if (others.length === waiting.length) return [...waiting, request];
  return waiting.map((other) => (other.requestId === request.requestId ? request : other));
}

/**
 * Takes the oldest request, and the requests equal to it that may share its run, from the queue. A rollback or purge is
 * never overtaken: who requests a run after it wants what the run finds after it, and who requests it again after a run
 * wants it to happen after that run.
 */
export function nextBatch(waiting: readonly MirrorRequest[]): { batch: Batch; rest: MirrorRequest[] } | null {
  const changing = waiting.filter((request) => !isDryRun(request));
  const [dry] = waiting;
  // A dry run waits until nothing else does, and changes nothing, so that it is no barrier.
  if (changing.length === 0 && dry !== undefined)
    return { batch: { first: dry, all: [dry] }, rest: waiting.slice(1) };
  return nextOf(changing, waiting);
}

/** Whether a request is for a run that does everything but publish. */
export function isDryRun(request: MirrorRequest): boolean {
  return request.kind === 'run' && request.dryRun !== undefined;
}

/** @param changing the requests among those that wait that are not for dry runs */
function nextOf(
  changing: readonly MirrorRequest[],
  waiting: readonly MirrorRequest[],
): ReturnType<typeof nextBatch> {
  const [first] = changing;
  if (first === undefined) return null;
  const spec = specOf(first);
  const equal = (other: MirrorRequest): boolean => specOf(other) === spec;
  const mayPass = (other: MirrorRequest): boolean => first.kind === 'run' && other.kind === 'run';
  const barrier = changing.findIndex((other) => !equal(other) && !mayPass(other));
  const before = barrier === -1 ? changing : changing.slice(0, barrier);
  const all = before.filter(equal);
  return {
    batch: { first: asOne(first, all), all },
    rest: waiting.filter((other) => !all.includes(other)),
  };
}

function asOne(first: MirrorRequest, all: readonly MirrorRequest[]): MirrorRequest {
  if (first.kind !== 'run') return first;
  const runs = all.filter((request) => request.kind === 'run');
  const { background: _, ...run } = first;
  return {
    ...run,
    nominalStart: Math.max(...runs.map(({ nominalStart }) => nominalStart)),
    ...(runs.every(({ background }) => background === true) ? { background: true } : {}),
  };
}

/** What a request specifies, without who requests it and when. Equal texts can share a run. */
function specOf(request: MirrorRequest): string {
  const { requestId: _, replyTo: __, ...spec } = request;
  if (spec.kind !== 'run') return JSON.stringify(spec);
  const { alertedBy: ___, background: ____, ...run } = spec;
  return JSON.stringify({ ...run, nominalStart: 0 });
}

/**
 * The reporter of a batch's run for alerts: a sender, if one of them does. A sender that has withdrawn its request ends without
 * the run's report, so it cannot report the run.
 *
 * @param wanted ids of the requests that were not withdrawn
 */
export function alertedBy(batch: readonly MirrorRequest[], wanted: ReadonlySet<string>): 'sender' | 'mirror' {
  const senders = batch.filter(({ requestId }) => wanted.has(requestId));
  return senders.some((one) => one.kind === 'run' && one.alertedBy === 'sender') ? 'sender' : 'mirror';
}

export function remember(answered: readonly RunAnswer[], answer: RunAnswer): RunAnswer[] {
  return [...answered.filter((other) => other.requestId !== answer.requestId), answer].slice(-MAX_ANSWERS);
}

export function answerOf(answered: readonly RunAnswer[], requestId: string): RunAnswer | undefined {
  return answered.find((answer) => answer.requestId === requestId);
}

const FIELDS: readonly string[] = ['mode', 'reconcile', 'since'];

/** Why an update is rejected before it enters the history: it is not valid, or may not wait; `null`: it is accepted. */
export function syncProblem(input: SyncInput | undefined, queue: Queue): SyncProblem | null {
  const problem = problemOf(input ?? {});
  if (problem !== null) return { type: 'InvalidSync', message: `sync: ${problem}` };
  if (!isFull(queue.waiting, syncRequest(input, SOME_ID, 0))) return null;
  return { type: 'QueueFull', message: `sync: ${fullQueue(queue)}` };
}

interface SyncProblem {
  readonly type: 'InvalidSync' | 'QueueFull';
  readonly message: string;
}

/** As long as the id of a request. */
const SOME_ID = '0'.repeat(36);

type Queue = Pick<MirrorState, 'resource' | 'waiting'>;

/** Why a request may not wait. */
export function fullQueue({ resource, waiting }: Queue): string {
  return (
    `${resource}: ${waiting.length} requests wait for this mirror, and their state has no space for more. Wait until they ` +
    'are served, or withdraw some of them.'
  );
}

function problemOf(input: SyncInput): string | null {
  const wrong = syncInputProblem(input);
  if (wrong !== null) return wrong;
  const unknown = Object.keys(input).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined) return `unknown field "${unknown}"; the fields are ${FIELDS.join(', ')}`;
  const { mode, reconcile, since } = input;
  const isFull = reconcile === true || mode === 'full';
  return since !== undefined && isFull ? 'since cannot be combined with a full pass' : null;
}

export function syncRequest(input: SyncInput | undefined, requestId: string, now: EpochMs): RunRequest {
  const { mode, reconcile, since } = input ?? {};
  const changes = {
    mode: reconcile === true ? 'full' : (mode ?? 'increment'),
    reconcile: reconcile === true,
    since: since === undefined ? null : parseSince(since),
  } as const;
  return { ...runSpec(now, changes), requestId, replyTo: null };
}
