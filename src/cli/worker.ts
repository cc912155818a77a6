import { grpcMessage, isDenied } from '../temporal/grpc.js';
import { reach } from '../temporal/reach.js';
import { createWorker } from '../temporal/worker.js';
import { readSettings, temporalPlace, toUserError } from './context.js';
import { EXIT, type ExitCode } from './exit-code.js';
import { type GlobalOptions, positive, reachTimeoutMs } from './options.js';
import { lastWords, output } from './output.js';
import { installRuntime, LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevelName } from './runtime.js';
import { UsageError } from './usage-error.js';

export interface WorkerCommandOptions extends GlobalOptions {
  readonly logFormat: string;
  readonly logLevel: string;
  readonly maxActivities?: string;
}

/** `worktrack worker`: works until SIGTERM or Ctrl-C, then drains; a second signal ends it at once. */
export async function runWorker(options: WorkerCommandOptions): Promise<ExitCode> {
  const format = oneOf<LogFormat>('--log-format', options.logFormat, LOG_FORMATS);
  const level = oneOf<LogLevelName>('--log-level', options.logLevel, LOG_LEVELS);
  const maxConcurrentActivities =
    options.maxActivities === undefined ? undefined : positive('--max-activities', options.maxActivities);
  const settings = readSettings(options);
  const place = temporalPlace(options);
  installRuntime({ format, level });
  const stopping = new AbortController();
  const release = listenForStop(stopping);
  try {
    const worker = await reach(
      `Temporal at ${place.address}`,
      () => createWorker({ ...options, settings, maxConcurrentActivities }),
      (error) => !isDenied(error) && isTransport(error),
      grpcMessage,
      { timeoutMs: reachTimeoutMs(process.env), onTrouble: output.note, signal: stopping.signal },
    );
    if (format === 'text') announce(worker, settings);
    if (stopping.signal.aborted) worker.stop();
    else stopping.signal.addEventListener('abort', () => worker.stop(), { once: true });
    await worker.run();
    return EXIT.done;
  } catch (error) {
    // Told to stop before it had connected: there is nothing to drain.
    if (stopping.signal.aborted && error === stopping.signal.reason) return EXIT.done;
    throw toUserError(error, place);
  } finally {
    release();
  }
}

function announce(
  worker: { taskQueue: string; namespace: string; address: string },
  settings: { connections: readonly { name: string; resources: readonly unknown[] }[] },
): void {
  const { taskQueue, namespace, address } = worker;
  const served = settings.connections.map(({ name, resources }) => `${name} (${resources.length} resources)`);
  output.note(`Worker on task queue "${taskQueue}", namespace "${namespace}", Temporal at ${address}`);
  output.note(`Serves ${served.join(', ')}. SIGTERM or Ctrl-C drains it.`);
}

function listenForStop(stopping: AbortController): () => void {
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stopping.signal.aborted) {
      lastWords(`${signal} again: ending at once; other workers take over after the heartbeat time-out.`);
      process.exit(EXIT.failed);
    }
    output.note(`${signal}: draining; what is under way saves its position. A second signal ends at once.`);
    stopping.abort();
  };
  const signals = ['SIGTERM', 'SIGINT'] as const;
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}

/** The native client throws errors of its own class for a server that is not there. */
function isTransport(error: unknown): boolean {
  return (
    error instanceof Error &&
    (error.name === 'TransportError' || /connect|transport|timed? ?out/i.test(error.message))
  );
}

function oneOf<T extends string>(option: string, text: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === text);
  if (found !== undefined) return found;
  throw new UsageError(`${option} must be one of ${allowed.join(', ')}; found ${JSON.stringify(text)}`);
}
