import type { ConnectionLike } from '@temporalio/client';
import { describe, expect, it } from 'vitest';
import { untilRegistered } from '../../../src/temporal/worker/registration.js';

const VERSION = { deploymentName: 'd', buildId: '2' };
const failed = (code: number): Error => Object.assign(new Error('no'), { code, details: 'no' });
const NOT_FOUND = failed(5);

/** Asks a server that answers about the version and about its deployment as told, and then knows the version. */
async function warnings(answers: readonly (readonly [version: Error, deployment: Error | null])[]) {
  const said: string[] = [];
  let at = 0;
  const connection = {
    workflowService: {
      describeWorkerDeploymentVersion: async () => {
        if (at < answers.length) throw answers[at]![0];
      },
      describeWorkerDeployment: async () => {
        const answer = answers[at++]![1];
        if (answer !== null) throw answer;
      },
    },
  };
  const done = await untilRegistered({
    ...{ namespace: 'default', version: VERSION, signal: new AbortController().signal },
    ...{ everyMs: 1, refusedAfterMs: -1, loggedEveryMs: -1 },
    connection: () => connection as unknown as ConnectionLike,
    warn: (text) => said.push(/limits the number of (.*?)\./.exec(text)![1]!),
  });
  expect(done).toBe(true);
  return said;
}

describe('a worker that the server does not accept', () => {
  it('says which limit the server has reached', async () => {
    expect(await warnings([[NOT_FOUND, null]])).toEqual(['versions in a deployment']);
    expect(await warnings([[NOT_FOUND, NOT_FOUND]])).toEqual(['deployments']);
  });

  it('remembers that the deployment exists, which a busy server does not always know', async () => {
    expect(
      await warnings([
        [NOT_FOUND, NOT_FOUND],
        [NOT_FOUND, null],
        [NOT_FOUND, NOT_FOUND],
      ]),
    ).toEqual(['deployments', 'versions in a deployment', 'versions in a deployment']);
  });

  it('is accepted by a server that does not say so', async () => {
    expect(await warnings([[failed(12), null]])).toEqual([]);
  });
});
