import type { DeploymentVersion } from '../../temporal/worker/worker.js';
import { UsageError } from '../shared/usage-error.js';

export interface DeploymentOptions {
  readonly deploymentName?: string;
  readonly buildId?: string;
}

/**
 * The deployment version of a worker, from its options or `WORKTRACK_DEPLOYMENT_NAME` and `WORKTRACK_BUILD_ID`;
 * `undefined` if neither is set, which turns versioning off.
 *
 * @throws UsageError if only one of the two is set
 */
export function readDeployment(
  options: DeploymentOptions,
  env: Readonly<Record<string, string | undefined>>,
): DeploymentVersion | undefined {
  const deploymentName = options.deploymentName ?? (env.WORKTRACK_DEPLOYMENT_NAME || undefined);
  const buildId = options.buildId ?? (env.WORKTRACK_BUILD_ID || undefined);
  if (deploymentName === undefined && buildId === undefined) return undefined;
  if (deploymentName === undefined || buildId === undefined) {
    const [given, missing] =
      buildId === undefined ? ['deployment name', '--build-id'] : ['build id', '--deployment-name'];
    throw new UsageError(
      `a ${given} requires ${missing} too; pass both, or neither to run without versioning`,
    );
  }
  // The server joins the two with a dot.
  if (deploymentName.includes('.'))
    throw new UsageError(`--deployment-name must not contain "."; found ${JSON.stringify(deploymentName)}`);
  return { deploymentName, buildId };
}
