import { type ReplayWorkerOptions, Worker } from '@temporalio/worker';
import { bundleFor } from '../worker/bundle.js';
import type { RecordedHistory } from './parse-history.js';

export interface ReplayedHistory {
  readonly name: string;
  readonly workflowType: string;
  readonly runId: string;
  readonly events: number;
  /** `diverged`: this build issues other commands than recorded. `empty`: no workflow task is completed yet. */
  readonly outcome: 'replayed' | 'diverged' | 'empty';
  /** The difference; `null` unless diverged. */
  readonly error: string | null;
}

/**
 * Replays histories with the workflows of this build, or of your bundle if `options` names one, and yields the outcome
 * of each. A history that diverges does not stop the others. Replay calls no server and runs no activities.
 *
 * @param options options of the SDK's replay worker; set `dataConverter` if payloads are encoded
 * @example
 * const histories = serverHistories(temporal, { taskQueue: 'worktrack' });
 * for await (const { name, outcome } of replayHistories(histories)) console.log(name, outcome);
 */
export async function* replayHistories(
  histories: Iterable<RecordedHistory> | AsyncIterable<RecordedHistory>,
  options: ReplayWorkerOptions = {},
): AsyncGenerator<ReplayedHistory, void, undefined> {
  const own = options.workflowsPath !== undefined || options.workflowBundle !== undefined;
  const workflows = own
    ? {}
    : { workflowBundle: await bundleFor('index', { converter: options.dataConverter }) };
  for await (const recorded of histories) {
    yield await replayOne(recorded, { ...workflows, ...options });
  }
}

/** Each history gets a separate replay worker (about 20 ms), so that a failure cannot affect the next history. */
async function replayOne(
  { name, history }: RecordedHistory,
  options: ReplayWorkerOptions,
): Promise<ReplayedHistory> {
  const events = history.events ?? [];
  const started = events[0]?.workflowExecutionStartedEventAttributes;
  const about = {
    name,
    workflowType: started?.workflowType?.name ?? '',
    runId: started?.originalExecutionRunId ?? '',
    events: events.length,
  };
  if (!events.some((event) => event.workflowTaskCompletedEventAttributes)) {
    return { ...about, outcome: 'empty', error: null };
  }
  const workflowId = started?.workflowId || name;
  // The generator is lazy: iterating it runs the replay.
  for await (const { error } of Worker.runReplayHistories(options, [{ workflowId, history }])) {
    if (error !== undefined) return { ...about, outcome: 'diverged', error: shortened(error.message) };
  }
  return { ...about, outcome: 'replayed', error: null };
}

/** Extracts the message: the SDK's core formats failures as Rust structures. */
function shortened(message: string): string {
  const [, inner] = /Failure \{ message: "((?:[^"\\]|\\.)*)"/s.exec(message) ?? [];
  return inner === undefined ? message : inner.replace(/\\(["'\\])/g, '$1').replaceAll('\\n', ' ');
}
