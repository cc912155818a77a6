/** The deployment and build of a worker, for worker deployment versioning. */
export interface DeploymentVersion {
  readonly deploymentName: string;
  readonly buildId: string;
}

export function isSameVersion(one: DeploymentVersion | null, other: DeploymentVersion | null): boolean {
  return one?.deploymentName === other?.deploymentName && one?.buildId === other?.buildId;
}
