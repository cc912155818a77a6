import { describe, expect, it } from 'vitest';
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
