import { noResponse, OutOfReachError, withTimeout } from '../core/reachability.js';
import type { ConnectionSettings } from '../core/settings.js';
import { type ConnectOptions, connectTemporal, type TemporalClient } from '../temporal/client/connect.js';
import {
  grpcMessage,
  isDenied,
  isNamespaceMissing,
  isTooLate,
  isUnreachable,
  isWithheld,
} from '../temporal/client/grpc.js';
import { otherQueuesText, queueOption } from '../temporal/status/silence.js';
import {
  notCurrent,
  type PollingWorker,
  queuesWithWorkers,
  readWorkers,
  type WorkerDifference,
  workerDifferences,
} from '../temporal/status/workers.js';
import { type WaitingWork, waitingTexts, waitingWork } from '../temporal/versions/stuck-work.js';
import { temporalProxyFindings } from './check-proxy.js';
import { type Finding, ok, problem, warning } from './finding.js';

export interface TemporalPlace extends ConnectOptions {
  readonly address: string;
  readonly namespace: string;
  readonly taskQueue: string;
  /** What to say about a worker with another configuration. */
  describe(found: WorkerDifference): { readonly message: string; readonly remedy: string };
}

/** Checks that Temporal responds, has the namespace, and that a worker polls the task queue. @param timeoutMs time limit of one call */
export async function checkTemporal(
  place: TemporalPlace,
  connections: readonly ConnectionSettings[],
  timeoutMs: number,
): Promise<Finding[]> {
  const proxy = temporalProxyFindings(place.address);
  if (proxy.some(({ state }) => state === 'problem')) return proxy;
  const connecting = connectTemporal(place);
  let temporal: TemporalClient | null = null;
  try {
    temporal = await withTimeout(connecting, timeoutMs);
    const reached = await withTimeout(server(temporal), timeoutMs);
    const workers = await withTimeout(readWorkers(temporal, place.taskQueue, timeoutMs), timeoutMs);
    const waiting = await withTimeout(waitingWork(temporal, place.taskQueue), timeoutMs).then(
      (found) => [...found.values()].flatMap(waitingFindings),
      unknownWaiting,
    );
    const others = workers.length > 0 ? [] : await queuesWithWorkers(temporal, place.taskQueue);
    const found = workerFindings(workers, place, connections, others);
    return [...proxy, reached, ...found, ...waiting];
  } catch (error) {
    if (temporal === null) connecting.then((late) => late.close()).catch(() => {});
    return [...proxy, temporalFailure(error, place, timeoutMs)];
  } finally {
    await temporal?.close();
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

/** A run that waits for a lost build also keeps the Schedule from starting the next one. */
function waitingFindings(waiting: WaitingWork): Finding[] {
  return waitingTexts(waiting).map(({ message, remedy }) =>
    warning('waiting run', message, `${remedy} Until then, its Schedule starts no other run.`),
  );
}

/** What to say if the runs that wait could not be read. A server without worker versions has no such list. */
function unknownWaiting(error: unknown): Finding[] {
  if (!(error instanceof OutOfReachError) && !isWithheld(error)) return [];
  const message = `it is not known whether runs wait for builds without workers: ${grpcMessage(error)}`;
  const remedy = isDenied(error)
    ? 'Let the credentials list and describe workflows of the namespace.'
    : 'Run `worktrack doctor` again.';
  return [warning('waiting run', message, remedy)];
}

function workerFindings(
  workers: readonly PollingWorker[],
  { taskQueue, describe }: TemporalPlace,
  connections: readonly ConnectionSettings[],
  others: readonly string[],
): Finding[] {
  if (workers.length === 0) {
    const remedy = `${otherQueuesText(others)}Start one with \`worktrack worker${queueOption(taskQueue)}\`. Until then, every run waits.`;
    return [warning('worker', `no worker polls task queue "${taskQueue}"`, remedy)];
  }
  const idle = workers
    .flatMap((worker) => notCurrent(worker) ?? [])
    .map(({ message, remedy }) => warning('worker version', message, remedy));
  const active = workers.filter(({ receivesRuns }) => receivesRuns);
  if (active.length === 0) {
    const message = `no worker of task queue "${taskQueue}" receives new runs`;
    const remedy = 'Make the version of a worker current. Until then, every run waits.';
    return [warning('worker', message, remedy), ...idle];
  }
  const names = active.map(({ identity }) => identity).join(', ');
  const older = active.filter(({ config }) => config === null).map(({ identity }) => identity);
  const configurations = workerDifferences(workers, connections)
    .map(describe)
    .map(({ message, remedy }) => warning('worker configuration', message, remedy));
  if (older.length > 0) {
    const message = `${older.join(', ')} publishes no configuration that can be read, so it cannot be compared`;
    const remedy =
      'A worker publishes it within seconds of its start. Otherwise see its log, and check that it has the same --data-converter.';
    configurations.unshift(warning('worker configuration', message, remedy));
  }
  if (configurations.length === 0 && connections.length > 0)
    configurations.push(ok('worker configuration', 'the same as in this file, for every connection'));
  return [ok('worker', `polling task queue "${taskQueue}": ${names}`), ...idle, ...configurations];
}

/** The finding of an error. The clients have limits as well, and which one ends first must not show. @param timeoutMs time limit of one call */
export function temporalFailure(
  error: unknown,
  { address, namespace }: Pick<TemporalPlace, 'address' | 'namespace'>,
  timeoutMs: number,
): Finding {
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
  if (error instanceof OutOfReachError || isUnreachable(error)) {
    const isLate = error instanceof OutOfReachError || isTooLate(error);
    const why = isLate ? noResponse(timeoutMs) : grpcMessage(error);
    const remedy =
      'Check TEMPORAL_ADDRESS or --address, the network, and that the server is running. `worktrack export --local` needs no server.';
    return problem('temporal', 'out-of-reach', `${where} is unreachable: ${why}`, remedy);
  }
  const remedy = 'Check the TEMPORAL_* variables and the server version.';
  return problem('temporal', 'other', `${where}: ${grpcMessage(error)}`, remedy);
}
