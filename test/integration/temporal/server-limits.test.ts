import { afterEach, describe, expect, inject } from 'vitest';
import { startTemporalDevServer, type TemporalDevServer } from '../../../src/servers/index.js';
import { withDeadline } from '../../../src/temporal/client/connect.js';
import { outageReason } from '../../../src/temporal/client/grpc.js';
import { freePort } from '../../support/ports.js';
import { startCommand, startWorkerProcess } from '../../support/processes.js';
import { longOnly } from '../../support/seeds.js';
import { type Stack, startStack, until } from '../../support/stack.js';

/** What is said if Temporal's own limits hold up workers and commands. */
describe('a limit of the Temporal server', () => {
  let temporal: TemporalDevServer;
  let stack: Stack;
  afterEach(async () => {
    await stack?.stop();
    await temporal?.stop();
  });

  async function start(limit: string): Promise<void> {
    const extraArgs = ['--dynamic-config-value', limit];
    const executable = inject('servers').temporalCli;
    temporal = await startTemporalDevServer({ executable, headless: true, extraArgs });
    stack = await startStack({ resources: '[projects]', temporalAddress: temporal.address });
  }

  // test/unit/temporal/registration.test.ts: when such a worker is accepted, and what it says until then.
  longOnly(
    'keeps a worker of a version that it refuses from being ready, and the worker says why',
    async () => {
      await start('matching.maxVersionsInDeployment=1');
      const version = (buildId: string) => ({ WORKTRACK_DEPLOYMENT_NAME: 'd', WORKTRACK_BUILD_ID: buildId });
      const health = `127.0.0.1:${await freePort()}`;
      const state = () =>
        fetch(`http://${health}/readyz`).then(async (answer) => [answer.status, await answer.json()]);
      const first = await startWorkerProcess(stack, version('1'), ['--health', health]);
      await expect.poll(state).toEqual([200, { state: 'polling' }]);
      await first.signal('SIGTERM');

      const place = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
      const refused = startCommand(stack, ['worker', ...place, '--health', health], version('2'));
      stack.beforeStop(() => refused.signal('SIGTERM'));
      const why = 'Temporal has not accepted build 2 of deployment d';
      await until(async () => (await refused.output()).stderr.includes(why), 'it says why');
      expect((await refused.output()).stderr).toContain('versions in a deployment');
      expect(await state()).toEqual([503, { state: 'connecting' }]);
    },
  );

  // `unit/temporal/grpc` has the error of such a server.
  longOnly('is named with its method by the error of a call that it refuses', async () => {
    await start('frontend.namespaceRPS=1');
    const { client, namespace } = stack.temporal;
    const call = () =>
      client.workflowService.describeTaskQueue({ namespace, taskQueue: { name: 'q' }, taskQueueType: 1 });
    const calls = Array.from({ length: 20 }, () => withDeadline(stack.temporal, call, 3_000));
    const failed = (await Promise.allSettled(calls)).flatMap((one) =>
      one.status === 'rejected' ? [outageReason(one.reason)] : [],
    );
    const reason = {
      text: 'it limits requests: namespace rate limit exceeded (DescribeTaskQueue)',
      remedy: 'Wait, or raise the limit of the namespace.',
    };
    expect(failed.length).toBeGreaterThan(0);
    expect(new Set(failed.map((one) => JSON.stringify(one)))).toEqual(new Set([JSON.stringify(reason)]));
  });
});
