import { type ConnectOptions, connectTemporal, type TemporalClient } from '../temporal/connect.js';
import { grpcMessage, isDenied, isNamespaceMissing, isUnreachable } from '../temporal/grpc.js';
import { lastPoll } from '../temporal/task-queue.js';
import { bounded, NoAnswerError } from './bounded.js';
import { type Finding, ok, problem, warning } from './finding.js';

/** A poll waits for a minute at most; a worker that has not come again by then is gone. */
const WORKER_GONE_MS = 120_000;

export interface TemporalPlace extends ConnectOptions {
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
}

/** Whether Temporal answers, has the namespace, and a worker of ours polls the task queue. @param timeoutMs for one call */
export async function checkTemporal(place: TemporalPlace, timeoutMs: number): Promise<Finding[]> {
  const connecting = connectTemporal(place);
  let temporal: TemporalClient;
  try {
    temporal = await bounded(timeoutMs, connecting);
  } catch (error) {
    connecting.then((late) => late.close()).catch(() => {});
    return [failed(error, place)];
  }
  try {
    const reached = await bounded(timeoutMs, server(temporal));
    return [reached, await bounded(timeoutMs, worker(temporal, place))];
  } catch (error) {
    return [failed(error, place)];
  } finally {
    await temporal.close();
  }
}

async function server({ client, namespace, address }: TemporalClient): Promise<Finding> {
  const { serverVersion } = await client.workflowService.getSystemInfo({});
  await client.workflowService.describeNamespace({ namespace });
  return ok(
    'temporal',
    `${address}, namespace "${namespace}", server ${serverVersion || 'of an unknown version'}`,
  );
}

async function worker(temporal: TemporalClient, { taskQueue }: TemporalPlace): Promise<Finding> {
  const last = await lastPoll(temporal, taskQueue);
  const remedy = `Start one: \`worktrack worker\`${taskQueue === 'worktrack' ? '' : ` --task-queue ${taskQueue}`}. Until then every run waits.`;
  if (last === null) return warning('worker', `no worker polls the task queue "${taskQueue}"`, remedy);
  const ago = Date.now() - last;
  if (ago < WORKER_GONE_MS) return ok('worker', `polls the task queue "${taskQueue}"`);
  const seconds = Math.round(ago / 1000);
  return warning('worker', `the last poll of the task queue "${taskQueue}" was ${seconds} s ago`, remedy);
}

function failed(error: unknown, { address, namespace }: TemporalPlace): Finding {
  const where = `Temporal at ${address}`;
  if (isDenied(error)) {
    const remedy =
      'Correct TEMPORAL_API_KEY or the TLS certificate, and check that it may use the namespace.';
    return problem('temporal', 'configuration', `${where} turned us away: ${grpcMessage(error)}`, remedy);
  }
  if (isNamespaceMissing(error)) {
    const remedy = 'Correct TEMPORAL_NAMESPACE or --namespace, or create the namespace.';
    return problem('temporal', 'configuration', `${where} has no namespace "${namespace}"`, remedy);
  }
  if (error instanceof NoAnswerError || isUnreachable(error)) {
    const why = error instanceof NoAnswerError ? error.message : grpcMessage(error);
    const remedy =
      'Check TEMPORAL_ADDRESS or --address, the network and that the server is up; `worktrack export --local` works without one.';
    return problem('temporal', 'out-of-reach', `${where} is out of reach: ${why}`, remedy);
  }
  const remedy = 'Check the TEMPORAL_* variables and the version of the server.';
  return problem('temporal', 'other', `${where}: ${grpcMessage(error)}`, remedy);
}
