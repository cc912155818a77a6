import { type ReplayWorkerOptions, Worker } from '@temporalio/worker';
import { bundleFor } from './bundle.js';
import type { RecordedHistory } from './history.js';

export interface ReplayedHistory {
  readonly name: string;
  readonly workflowType: string;
  readonly runId: string;
  readonly events: number;
  /** `diverged`: this build would go another way than what is recorded. `empty`: no workflow task was done yet. */
  readonly outcome: 'replayed' | 'diverged' | 'empty';
  /** What went another way; `null` unless diverged. */
  readonly error: string | null;
}

/**
 * Replays histories with the workflows of this build, or of your bundle where `options` names one, and tells of each
 * in turn. One that diverges does not end the others. Nothing is asked of any server, and no activity runs.
 *
 * @param options what the SDK's replay takes; `dataConverter` where payloads are encoded
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

/** Each has a replay worker of its own (some 20 ms): one that fails cannot leave anything to the next. */
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
  // A lazy generator: only reading it replays.
  for await (const { error } of Worker.runReplayHistories(options, [{ workflowId, history }])) {
    if (error !== undefined) return { ...about, outcome: 'diverged', error: shortened(error.message) };
  }
  return { ...about, outcome: 'replayed', error: null };
}

/** The heart of it: the SDK's core prints failures as Rust structures, with the message in the middle. */
function shortened(message: string): string {
  const [, inner] = /Failure \{ message: "((?:[^"\\]|\\.)*)"/s.exec(message) ?? [];
  return inner === undefined ? message : inner.replace(/\\(["'\\])/g, '$1').replaceAll('\\n', ' ');
}
