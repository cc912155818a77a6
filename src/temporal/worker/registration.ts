import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectionLike } from '@temporalio/client';
import type { DeploymentVersion } from '../../core/deployment-version.js';
import { MINUTE_MS, SECOND_MS } from '../../core/duration.js';
import { isMissing, isUnreachable } from '../client/grpc.js';

const DEFAULTS = {
  /** How often the server is asked until it knows the version. */
  everyMs: SECOND_MS,
  /** The server registers a version within seconds of its first poll. */
  refusedAfterMs: 20 * SECOND_MS,
  loggedEveryMs: MINUTE_MS,
};

interface RegistrationOptions extends Partial<typeof DEFAULTS> {
  readonly namespace: string;
  readonly version: DeploymentVersion;
  /** The connection of the worker, which may be replaced. */
  readonly connection: () => ConnectionLike;
  readonly warn: (message: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Waits until the server knows the version of a polling worker. A server that has no room for another version or
 * deployment keeps the polls of a worker waiting, without an error and without work, so this is logged.
 *
 * @returns whether it is known; `false`: the signal was aborted
 */
export async function untilRegistered(options: RegistrationOptions): Promise<boolean> {
  const { everyMs, refusedAfterMs, loggedEveryMs, signal, warn } = { ...DEFAULTS, ...options };
  const since = performance.now();
  let loggedAt = Number.NEGATIVE_INFINITY;
  let hasDeployment = false;
  while (!signal.aborted) {
    // A server that does not say so, or not to this worker, is no reason to wait.
    const missing = await missingPart(options).catch((error) => (isUnreachable(error) ? null : 'none'));
    if (missing === 'none') return true;
    // A busy server may say that it does not know a deployment that it has.
    if (missing === 'version') hasDeployment = true;
    const now = performance.now();
    if (missing !== null && now - since > refusedAfterMs && now - loggedAt > loggedEveryMs) {
      loggedAt = now;
      warn(refusedText(hasDeployment ? 'version' : 'deployment', options.version));
    }
    await delay(everyMs, undefined, { signal }).catch(() => {});
  }
  return false;
}

/** What the server does not know. @throws what a server throws that does not answer, or has no versions */
async function missingPart({
  namespace,
  version,
  connection,
}: RegistrationOptions): Promise<'none' | 'version' | 'deployment'> {
  const { workflowService } = connection();
  const { deploymentName } = version;
  const knows = (call: Promise<unknown>) =>
    call.then(
      () => true,
      (error: unknown) => {
        if (isMissing(error)) return false;
        throw error;
      },
    );
  const deploymentVersion = { ...version };
  if (await knows(workflowService.describeWorkerDeploymentVersion({ namespace, deploymentVersion })))
    return 'none';
  return (await knows(workflowService.describeWorkerDeployment({ namespace, deploymentName })))
    ? 'version'
    : 'deployment';
}

function refusedText(
  missing: 'version' | 'deployment',
  { deploymentName, buildId }: DeploymentVersion,
): string {
  const [what, list] =
    missing === 'version'
      ? ['versions in a deployment', `temporal worker deployment describe --name ${deploymentName}`]
      : ['deployments', 'temporal worker deployment list'];
  return (
    `Temporal has not accepted build ${buildId} of deployment ${deploymentName}, so this worker receives no work. ` +
    `The server limits the number of ${what}. Delete one that has drained and has no workers (${list}); this worker is accepted then.`
  );
}
