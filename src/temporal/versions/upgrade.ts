import { setTimeout as delay } from 'node:timers/promises';
import type { Millis } from '../../core/brands.js';
import { type DeploymentVersion, isSameVersion } from '../../core/deployment-version.js';
import { MINUTE_MS, SECOND_MS } from '../../core/duration.js';
import { type ReachOptions, reach } from '../../core/reachability.js';
import { type TemporalClient, withDeadline } from '../client/connect.js';
import { isMissing, isUnreachable, outageReason } from '../client/grpc.js';
import { type Poller, readPollers } from '../status/workers.js';
import { countPinned } from './stuck-work.js';

/** What an upgrade waits for, or has done. */
export type UpgradeStep =
  /** No worker of the build has polled yet. */
  | { readonly step: 'waiting' }
  /**
   * The build receives new runs now. `before`: the version until then; `null`: workers without a version. If the build was
   * current already, `before` is the newest version that drains; `null`: none does. `draining`: all versions that drain.
   */
  | {
      readonly step: 'current';
      readonly before: DeploymentVersion | null;
      readonly changed: boolean;
      readonly draining: readonly DeploymentVersion[];
    }
  /**
   * Workflows still stay on an earlier version. `lost`: how many, if none of them is on a task queue that its workers poll.
   * `taskQueues`: those of the lost ones.
   */
  | {
      readonly step: 'draining';
      readonly before: DeploymentVersion;
      readonly lost: number;
      readonly taskQueues: readonly string[];
    }
  /** The workers of an earlier version may stop. */
  | { readonly step: 'drained'; readonly before: DeploymentVersion };

export interface UpgradeOptions {
  readonly taskQueue: string;
  readonly onStep: (step: UpgradeStep) => void;
  readonly signal?: AbortSignal | undefined;
  /**
   * How long to wait for workers that do not poll: those of the build, and those of earlier versions whose workflows cannot end
   * without them. Default: two minutes.
   */
  readonly appearsWithinMs?: Millis | undefined;
  /** How long Temporal may be unreachable. Default: a minute. */
  readonly reach?: ReachOptions | undefined;
  /** `false`: ends when the build is current. Default: waits until all earlier versions have drained. */
  readonly waits?: boolean | undefined;
}

const APPEARS_WITHIN_MS = 2 * MINUTE_MS;
const LOOK_EVERY_MS = SECOND_MS;
/** The server looks at a version that drains every few minutes. */
const DRAIN_LOOK_EVERY_MS = 5 * SECOND_MS;
/** `VERSION_DRAINAGE_STATUS_DRAINING` and `VERSION_DRAINAGE_STATUS_DRAINED`. */
const DRAINING = 1;
const DRAINED = 2;
/** `TASK_QUEUE_TYPE_WORKFLOW` and `TASK_QUEUE_TYPE_ACTIVITY`. */
const TASK_TYPES = [1, 2];

/**
 * Makes a build of workers current as soon as they poll, and waits until the earlier versions of the deployment have drained,
 * also those of earlier upgrades. Idempotent: the same call waits for what still drains.
 *
 * @returns the last step; `waiting`: no worker of the build polled in time, and nothing was changed; `draining`: versions without
 *   workers drain no further; `current`: nothing drains, or `waits` is `false`
 * @throws OutOfReachError; an SDK error if Temporal refuses; the reason of `signal`
 * @example
 * const version = { deploymentName: 'worktrack', buildId: '0.2.0' };
 * const { step } = await upgradeTo(temporal, version, { taskQueue: 'worktrack', onStep: console.log });
 */
export async function upgradeTo(
  temporal: TemporalClient,
  version: DeploymentVersion,
  options: UpgradeOptions,
): Promise<UpgradeStep> {
  const { onStep, waits = true } = options;
  const reached = <T>(call: () => Promise<T>): Promise<T> =>
    reach(`Temporal at ${temporal.address}`, call, isUnreachable, outageReason, options.reach);
  if (!(await appears(() => reached(() => polls(temporal, version, options)), options)))
    return { step: 'waiting' };
  const known = <T>(call: () => Promise<T>): Promise<T> => untilKnown(() => reached(call), options);
  const { current: was } = await known(() => describeDeployment(temporal, version));
  const changed = !isSameVersion(was, version);
  if (changed) await known(() => makeCurrent(temporal, version));
  const after = await known(() => describeDeployment(temporal, version));
  const replaced = changed && was !== null ? [was] : [];
  // The server may list the version before as draining a moment later.
  const others = after.draining.filter((one) => ![version, was].some((known) => isSameVersion(one, known)));
  const draining = [...replaced, ...others];
  const before = changed ? was : (draining[0] ?? null);
  const current: UpgradeStep = { step: 'current', before, changed, draining };
  onStep(current);
  if (draining.length === 0) return current;
  if (waits) return untilDrained(temporal, draining, reached, options);
  const pollersOf = pollersByQueue(temporal, reached);
  for (const one of draining) {
    const known = await unlessMissing(reached(() => describeVersion(temporal, one)));
    const lost = await countLost(temporal, one, queuesOf(known, options), pollersOf, reached);
    onStep({ step: 'draining', before: one, ...lost });
  }
  return current;
}

/**
 * Waits until versions have drained.
 *
 * @returns the last `drained`, or a `draining` if for two minutes none of the versions had a worker that polls
 */
async function untilDrained(
  temporal: TemporalClient,
  versions: readonly DeploymentVersion[],
  reached: Reached,
  options: UpgradeOptions,
): Promise<UpgradeStep> {
  const { onStep, signal, appearsWithinMs = APPEARS_WITHIN_MS } = options;
  const told = new Map<DeploymentVersion, number>();
  let left = versions;
  for (let lostSince: number | null = null; ; ) {
    const steps: UpgradeStep[] = [];
    const pollersOf = pollersByQueue(temporal, reached);
    for (const before of left) {
      const describe = () => reached(() => describeVersion(temporal, before));
      // A version that has been deleted is not known for two minutes.
      const known = await unlessMissing(untilKnown(describe, options));
      if (known === null || known.workerDeploymentVersionInfo?.drainageInfo?.status === DRAINED) {
        const step: UpgradeStep = { step: 'drained', before };
        onStep(step);
        steps.push(step);
        continue;
      }
      const queues = queuesOf(known, options);
      const found = await countLost(temporal, before, queues, pollersOf, reached);
      const step: UpgradeStep = { step: 'draining', before, ...found };
      if (told.get(before) !== found.lost) onStep(step);
      told.set(before, found.lost);
      steps.push(step);
    }
    const drains = steps.filter((one) => one.step === 'draining');
    const [first] = drains;
    if (first === undefined) return steps.at(-1)!;
    lostSince = drains.every(({ lost }) => lost > 0) ? (lostSince ?? performance.now()) : null;
    if (lostSince !== null && performance.now() - lostSince > appearsWithinMs) return first;
    left = drains.map(({ before }) => before);
    await delay(DRAIN_LOOK_EVERY_MS, undefined, { signal });
  }
}

type Reached = <T>(call: () => Promise<T>) => Promise<T>;
type PollersOf = (taskQueue: string) => Promise<readonly Poller[]>;

/** Reads the workers of each task queue once. */
function pollersByQueue(temporal: TemporalClient, reached: Reached): PollersOf {
  const read = new Map<string, Promise<readonly Poller[]>>();
  return (taskQueue) => {
    const pollers = read.get(taskQueue) ?? reached(() => readPollers(temporal, taskQueue));
    read.set(taskQueue, pollers);
    return pollers;
  };
}

/** The task queues that workers of a version have polled for workflows: a deployment can have several. */
function queuesOf(known: Awaited<ReturnType<typeof describeVersion>> | null, { taskQueue }: UpgradeOptions) {
  const infos = known?.workerDeploymentVersionInfo?.taskQueueInfos ?? [];
  const names = infos.flatMap(({ name, type }) => (name && type === TASK_TYPES[0] ? [name] : []));
  return names.length === 0 ? [taskQueue] : [...new Set(names)];
}

/** How many workflows cannot end, because none of the version's workers polls their task queues; 0 if others still can. */
async function countLost(
  temporal: TemporalClient,
  version: DeploymentVersion,
  queues: readonly string[],
  pollersOf: PollersOf,
  reached: Reached,
): Promise<{ readonly lost: number; readonly taskQueues: readonly string[] }> {
  const polled = new Set<string>();
  for (const queue of queues)
    if ((await pollersOf(queue)).some((worker) => isSameVersion(worker.version, version))) polled.add(queue);
  const none = { lost: 0, taskQueues: [] };
  if (polled.size === queues.length) return none;
  let lost = 0;
  const taskQueues: string[] = [];
  for (const queue of queues) {
    const count = await reached(() => countPinned(temporal, queue, version));
    if (count === 0) continue;
    if (polled.has(queue)) return none;
    lost += count;
    taskQueues.push(queue);
  }
  return { lost, taskQueues };
}

/** Waits until the version polls. */
async function appears(
  polls: () => Promise<boolean>,
  { onStep, signal, appearsWithinMs = APPEARS_WITHIN_MS }: UpgradeOptions,
): Promise<boolean> {
  const until = performance.now() + appearsWithinMs;
  for (let isFirst = true; ; isFirst = false) {
    if (await polls()) return true;
    if (performance.now() > until) return false;
    if (isFirst) onStep({ step: 'waiting' });
    await delay(LOOK_EVERY_MS, undefined, { signal });
  }
}

/**
 * Repeats a call about a deployment with a worker that polls: a busy server may say that it does not know a deployment that it
 * has described just before.
 *
 * @throws what `call` throws: `NOT_FOUND` only after two minutes
 */
export async function untilKnown<T>(
  call: () => Promise<T>,
  { signal, appearsWithinMs = APPEARS_WITHIN_MS }: Pick<UpgradeOptions, 'signal' | 'appearsWithinMs'>,
  everyMs: Millis = LOOK_EVERY_MS,
): Promise<T> {
  const until = performance.now() + appearsWithinMs;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isMissing(error) || performance.now() > until) throw error;
    }
    await delay(everyMs, undefined, { signal });
  }
}

/** Whether a worker of the version polls now, and the server has seen it poll for workflows and activities of the task queue. */
async function polls(
  temporal: TemporalClient,
  version: DeploymentVersion,
  { taskQueue }: UpgradeOptions,
): Promise<boolean> {
  const found = await unlessMissing(describeVersion(temporal, version));
  const seen = found?.workerDeploymentVersionInfo?.taskQueueInfos ?? [];
  const isSeen = TASK_TYPES.every((type) => seen.some((one) => one.name === taskQueue && one.type === type));
  if (!isSeen) return false;
  return (await readPollers(temporal, taskQueue)).some((worker) => isSameVersion(worker.version, version));
}

/** What the server knows of a version. @throws `NOT_FOUND` if no worker of it has polled */
function describeVersion(temporal: TemporalClient, version: DeploymentVersion) {
  const { client, namespace } = temporal;
  return withDeadline(temporal, () =>
    client.workflowService.describeWorkerDeploymentVersion({ namespace, deploymentVersion: { ...version } }),
  );
}

/** `null` for what the server does not know. */
function unlessMissing<T>(call: Promise<T>): Promise<T | null> {
  return call.catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });
}

/** What the server knows of a deployment. */
interface Deployment {
  /** `null`: workers without a version are current. */
  readonly current: DeploymentVersion | null;
  /** Versions that were current and have workflows that stay on them, the newest first. */
  readonly draining: readonly DeploymentVersion[];
}

async function describeDeployment(
  temporal: TemporalClient,
  { deploymentName }: DeploymentVersion,
): Promise<Deployment> {
  const { client, namespace } = temporal;
  const { workerDeploymentInfo } = await withDeadline(temporal, () =>
    client.workflowService.describeWorkerDeployment({ namespace, deploymentName }),
  );
  const current = workerDeploymentInfo?.routingConfig?.currentDeploymentVersion;
  const versions = workerDeploymentInfo?.versionSummaries ?? [];
  return {
    current: current?.buildId ? { deploymentName, buildId: current.buildId } : null,
    draining: versions.flatMap(({ deploymentVersion, drainageInfo, drainageStatus }) => {
      const status = drainageInfo?.status ?? drainageStatus;
      const buildId = deploymentVersion?.buildId;
      return status === DRAINING && buildId ? [{ deploymentName, buildId }] : [];
    }),
  };
}

async function makeCurrent(temporal: TemporalClient, version: DeploymentVersion): Promise<void> {
  const { client, namespace } = temporal;
  await withDeadline(temporal, () =>
    client.workflowService.setWorkerDeploymentCurrentVersion({
      namespace,
      ...version,
      identity: client.options.identity,
    }),
  );
}
