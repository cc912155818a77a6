import { setTimeout as delay } from 'node:timers/promises';
import type { Millis } from '../../core/brands.js';
import { type DeploymentVersion, isSameVersion } from '../../core/deployment-version.js';
import { MINUTE_MS, SECOND_MS } from '../../core/duration.js';
import { type ReachOptions, reach } from '../../core/reachability.js';
import { type TemporalClient, withDeadline } from '../client/connect.js';
import { isMissing, isUnreachable, outageReason } from '../client/grpc.js';
import { readPollers } from '../status/workers.js';
import { stuckWork } from './stuck-work.js';

/** What an upgrade waits for, or has done. */
export type UpgradeStep =
  /** No worker of the build has polled yet. */
  | { readonly step: 'waiting' }
  /** The build receives new runs now. `before`: the version until then; `null`: workers without a version. */
  | { readonly step: 'current'; readonly before: DeploymentVersion | null; readonly changed: boolean }
  /** Workflows still stay on the version before. `lost`: how many, if none of its workers polls any more. */
  | { readonly step: 'draining'; readonly before: DeploymentVersion; readonly lost: number }
  /** The workers of the version before may stop. */
  | { readonly step: 'drained'; readonly before: DeploymentVersion };

export interface UpgradeOptions {
  readonly taskQueue: string;
  readonly onStep: (step: UpgradeStep) => void;
  readonly signal?: AbortSignal | undefined;
  /** How long to wait for the first poll of the build. Default: two minutes. */
  readonly appearsWithinMs?: Millis | undefined;
  /** How long Temporal may be unreachable. Default: a minute. */
  readonly reach?: ReachOptions | undefined;
  /** `false`: ends when the build is current. Default: waits until the version before has drained. */
  readonly waits?: boolean | undefined;
}

const APPEARS_WITHIN_MS = 2 * MINUTE_MS;
const LOOK_EVERY_MS = SECOND_MS;
/** The server looks at a version that drains every few minutes. */
const DRAIN_LOOK_EVERY_MS = 5 * SECOND_MS;
/** `VERSION_DRAINAGE_STATUS_DRAINED`. */
const DRAINED = 2;
/** `TASK_QUEUE_TYPE_WORKFLOW` and `TASK_QUEUE_TYPE_ACTIVITY`. */
const TASK_TYPES = [1, 2];

/**
 * Makes a build of workers current as soon as they poll, and waits until the version before has drained.
 *
 * @returns the last step; `waiting`: no worker of the build polled in time, and nothing was changed
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
  const { onStep, signal, waits = true } = options;
  const reached = <T>(call: () => Promise<T>): Promise<T> =>
    reach(`Temporal at ${temporal.address}`, call, isUnreachable, outageReason, options.reach);
  if (!(await appears(() => reached(() => polls(temporal, version, options)), options)))
    return { step: 'waiting' };
  const known = <T>(call: () => Promise<T>): Promise<T> => untilKnown(() => reached(call), options);
  const before = await known(() => currentVersion(temporal, version));
  const changed = !isSameVersion(before, version);
  if (changed) await known(() => makeCurrent(temporal, version));
  const current: UpgradeStep = { step: 'current', before, changed };
  onStep(current);
  if (!changed || before === null || !waits) return current;
  for (let told = -1; !(await isDrained(() => reached(() => describeVersion(temporal, before)), options)); ) {
    const stuck = await reached(() => stuckWork(temporal, options.taskQueue));
    const lost = stuck.filter(({ silence }) => isSameVersion(silence.version, before)).length;
    if (lost !== told) onStep({ step: 'draining', before, lost });
    told = lost;
    await delay(DRAIN_LOOK_EVERY_MS, undefined, { signal });
  }
  const drained: UpgradeStep = { step: 'drained', before };
  onStep(drained);
  return drained;
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

async function currentVersion(
  temporal: TemporalClient,
  { deploymentName }: DeploymentVersion,
): Promise<DeploymentVersion | null> {
  const { client, namespace } = temporal;
  const { workerDeploymentInfo } = await withDeadline(temporal, () =>
    client.workflowService.describeWorkerDeployment({ namespace, deploymentName }),
  );
  const found = workerDeploymentInfo?.routingConfig?.currentDeploymentVersion;
  return found?.buildId ? { deploymentName, buildId: found.buildId } : null;
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

/** Whether a version has drained, or has been deleted, which the server says for two minutes. */
async function isDrained(
  describe: () => ReturnType<typeof describeVersion>,
  options: UpgradeOptions,
): Promise<boolean> {
  const known = await unlessMissing(untilKnown(describe, options));
  return known === null || known.workerDeploymentVersionInfo?.drainageInfo?.status === DRAINED;
}
