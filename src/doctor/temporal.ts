import {
  type ConnectOptions,
  connectTemporal,
  lastPoll,
  type TemporalClient,
} from '../temporal/client/connect.js';
import { grpcMessage, isDenied, isNamespaceMissing, isUnreachable } from '../temporal/client/grpc.js';

import { type Finding, ok, problem, warning } from './finding.js';
import { answerWithin, NoResponseError } from './timeout.js';

/** A poll lasts at most a minute, so a worker that has not polled for two minutes has stopped. */
const WORKER_GONE_MS = 120_000;

export interface TemporalPlace extends ConnectOptions {
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
}

/** Checks that Temporal responds, has the namespace, and that a worker polls the task queue. @param timeoutMs time limit of one call */
export async function checkTemporal(place: TemporalPlace, timeoutMs: number): Promise<Finding[]> {
  const connecting = connectTemporal(place);
  let temporal: TemporalClient;
  try {
    temporal = await answerWithin(timeoutMs, connecting);
  } catch (error) {
    connecting.then((late) => late.close()).catch(() => {});
    return [failed(error, place)];
  }
  try {
    const reached = await answerWithin(timeoutMs, server(temporal));
    return [reached, await answerWithin(timeoutMs, worker(temporal, place))];
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
  const remedy = `Start one with: worktrack worker${taskQueue === 'worktrack' ? '' : ` --task-queue ${taskQueue}`}. Until then, every run waits.`;
  if (last === null) return warning('worker', `no worker is polling task queue "${taskQueue}"`, remedy);
  const ago = Date.now() - last;
  if (ago < WORKER_GONE_MS) return ok('worker', `polling task queue "${taskQueue}"`);
  const seconds = Math.round(ago / 1000);
  return warning('worker', `the last poll of task queue "${taskQueue}" was ${seconds} s ago`, remedy);
}

function failed(error: unknown, { address, namespace }: TemporalPlace): Finding {
  const where = `Temporal at ${address}`;
  if (isDenied(error)) {
    const remedy =
      'Correct TEMPORAL_API_KEY or the TLS certificate, and check that it may use the namespace.';
    const message = `${where} rejected the credentials: ${grpcMessage(error)}`;
    return problem('temporal', 'configuration', message, remedy);
  }
  if (isNamespaceMissing(error)) {
    const remedy = 'Correct TEMPORAL_NAMESPACE or --namespace, or create the namespace.';
    return problem('temporal', 'configuration', `${where} has no namespace "${namespace}"`, remedy);
  }
  if (error instanceof NoResponseError || isUnreachable(error)) {
    const why = error instanceof NoResponseError ? error.message : grpcMessage(error);
    const remedy =
      'Check TEMPORAL_ADDRESS or --address, the network, and that the server is running. `worktrack export --local` needs no server.';
    return problem('temporal', 'out-of-reach', `${where} is unreachable: ${why}`, remedy);
  }
  const remedy = 'Check the TEMPORAL_* variables and the server version.';
  return problem('temporal', 'other', `${where}: ${grpcMessage(error)}`, remedy);
}
