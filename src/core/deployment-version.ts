/** The deployment and build of a worker, for worker deployment versioning. */
export interface DeploymentVersion {
  readonly deploymentName: string;
  readonly buildId: string;
}

export function isSameVersion(one: DeploymentVersion | null, other: DeploymentVersion | null): boolean {
  return one?.deploymentName === other?.deploymentName && one?.buildId === other?.buildId;
}

/** The command that makes a version current. */
export function upgradeCommand({ deploymentName, buildId }: DeploymentVersion): string {
  return `worktrack upgrade ${buildId}${deploymentName === 'worktrack' ? '' : ` --deployment-name ${deploymentName}`}`;
}
