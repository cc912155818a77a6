import { type Context, context } from '@opentelemetry/api';
import type {
  ActivityInput,
  Next,
  SignalInput,
  UpdateInput,
  WorkflowInboundCallsInterceptor,
  WorkflowOutboundCallsInterceptor,
} from '@temporalio/workflow';
import type { Activities, MirrorRequest, SyncInput } from '../src/core/contract.js';
import { syncRequest } from './sync-request.js';

/** The activities that a run begins with, and what it was asked for by. */
const BEGIN: Readonly<Partial<Record<string, MirrorRequest['kind']>>> = {
  'worktrack.beginRun': 'run',
  'worktrack.rollBack': 'rollback',
  'worktrack.purgeRecord': 'purge',
} satisfies Partial<Record<keyof Activities, MirrorRequest['kind']>>;

/** Of each kind, so many are remembered. */
const MOST = 100;

/**
 * Puts the activities of a mirror's run into the trace of whoever asked for that run. A mirror lives for ever: its own
 * trace would gather all runs, and none of them would be in the trace of its export.
 *
 * Asks nothing of the mirror and changes nothing in it, so that histories replay with and without.
 */
export class RunTraces implements WorkflowInboundCallsInterceptor, WorkflowOutboundCallsInterceptor {
  /** Requests that no run was seen for, the oldest first. */
  #asked: { readonly request: MirrorRequest; readonly from: Context }[] = [];
  /** By run id. */
  readonly #runs = new Map<string, Context>();

  handleSignal(
    input: SignalInput,
    next: Next<WorkflowInboundCallsInterceptor, 'handleSignal'>,
  ): Promise<void> {
    if (input.signalName === 'requestRun') this.#remember(input.args[0] as MirrorRequest);
    return next(input);
  }

  handleUpdate(
    input: UpdateInput,
    next: Next<WorkflowInboundCallsInterceptor, 'handleUpdate'>,
  ): Promise<unknown> {
    if (input.name === 'sync')
      this.#remember(syncRequest(input.args[0] as SyncInput | undefined, '', Date.now()));
    return next(input);
  }

  scheduleActivity(
    input: ActivityInput,
    next: Next<WorkflowOutboundCallsInterceptor, 'scheduleActivity'>,
  ): Promise<unknown> {
    const subject = (input.args[0] ?? {}) as Readonly<Record<string, unknown>>;
    const kind = BEGIN[input.activityType];
    if (kind !== undefined) this.#begin(kind, subject);
    const from = this.#runs.get(String(subject.runId)) ?? context.active();
    return context.with(from, () => next(input));
  }

  #remember(request: MirrorRequest): void {
    this.#asked = [...this.#asked, { request, from: context.active() }].slice(-MOST);
  }

  #begin(kind: MirrorRequest['kind'], subject: Readonly<Record<string, unknown>>): void {
    const isMet = (request: MirrorRequest): boolean => request.kind === kind && asksFor(request, subject);
    const found = this.#asked.find(({ request }) => isMet(request));
    if (found === undefined) return;
    this.#asked = this.#asked.filter(({ request }) => !isMet(request));
    this.#runs.set(String(subject.runId), found.from);
    const [oldest] = this.#runs.keys();
    if (this.#runs.size > MOST) this.#runs.delete(oldest!);
  }
}

/** Whether the input of a run's first activity says what the request does, as far as it says it at all. */
function asksFor(request: MirrorRequest, subject: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(request).every(
    ([name, wanted]) => !(name in subject) || JSON.stringify(subject[name]) === JSON.stringify(wanted),
  );
}
