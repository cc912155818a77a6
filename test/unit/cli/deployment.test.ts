import { describe, expect, it } from 'vitest';
import { checkDefault } from '../../../src/cli/worker/upgrade-command.js';
import { readDeployment } from '../../../src/cli/worker/worker-command.js';

describe('the deployment version of a worker', () => {
  it('is undefined if nothing is set', () => {
    expect(readDeployment({}, {})).toBeUndefined();
    expect(readDeployment({}, { WORKTRACK_DEPLOYMENT_NAME: '', WORKTRACK_BUILD_ID: '' })).toBeUndefined();
  });

  it('comes from the options, or from the environment', () => {
    const env = { WORKTRACK_DEPLOYMENT_NAME: 'tracking', WORKTRACK_BUILD_ID: '41' };
    expect(readDeployment({}, env)).toEqual({ deploymentName: 'tracking', buildId: '41' });
    expect(readDeployment({ buildId: '42' }, env)).toEqual({ deploymentName: 'tracking', buildId: '42' });
  });

  it('requires both parts, and a name that the server accepts', () => {
    expect(() => readDeployment({ deploymentName: 'tracking' }, {})).toThrow('requires --build-id too');
    expect(() => readDeployment({ buildId: '42' }, {})).toThrow('requires --deployment-name too');
    expect(() => readDeployment({ deploymentName: 'a.b', buildId: '42' }, {})).toThrow('found "a.b"');
  });
});

describe('an upgrade without the name of a deployment', () => {
  const of = (...names: (string | null)[]) =>
    names.map((name) => ({ version: name === null ? null : { deploymentName: name, buildId: '41' } }));

  it('fails immediately if all versioned workers are of another deployment, and names it', () => {
    for (const workers of [of('tracking'), of('tracking', 'tracking', null)])
      expect(() => checkDefault(workers, '42', 'jobs')).toThrow(
        expect.objectContaining({
          code: 'CONFIGURATION',
          message: 'the workers of task queue "jobs" are of deployment tracking, and none is of worktrack',
          remedy: 'Name their deployment: `worktrack upgrade 42 --deployment-name tracking`.',
        }),
      );
    expect(() => checkDefault(of('b', 'a'), '42', 'jobs')).toThrow('are of deployment b, a, and none');
  });

  it('waits for a worker of the default deployment otherwise', () => {
    for (const workers of [of(), of(null), of('worktrack'), of('tracking', 'worktrack')])
      expect(() => checkDefault(workers, '42', 'jobs')).not.toThrow();
  });
});
