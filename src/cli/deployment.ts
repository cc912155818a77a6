import type { DeploymentVersion } from '../temporal/worker.js';
import { UsageError } from './usage-error.js';

export interface DeploymentOptions {
  readonly deploymentName?: string;
  readonly buildId?: string;
}

/**
 * The deployment version of a worker, from its options or `WORKTRACK_DEPLOYMENT_NAME` and `WORKTRACK_BUILD_ID`;
 * `undefined` where neither is there: versioning is off then.
 *
 * @throws UsageError when only one of the two is there
 */
export function readDeployment(
  options: DeploymentOptions,
  env: Readonly<Record<string, string | undefined>>,
): DeploymentVersion | undefined {
  const deploymentName = options.deploymentName ?? (env.WORKTRACK_DEPLOYMENT_NAME || undefined);
  const buildId = options.buildId ?? (env.WORKTRACK_BUILD_ID || undefined);
  if (deploymentName === undefined && buildId === undefined) return undefined;
  if (deploymentName === undefined || buildId === undefined) {
    const [there, missing] =
      buildId === undefined ? ['deployment name', '--build-id'] : ['build id', '--deployment-name'];
    throw new UsageError(
      `a ${there} alone versions nothing; give ${missing} too, or neither to run without versioning`,
    );
  }
  // The server joins the two with a dot.
  if (deploymentName.includes('.'))
    throw new UsageError(`--deployment-name must have no "."; found ${JSON.stringify(deploymentName)}`);
  return { deploymentName, buildId };
}
