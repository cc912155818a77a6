import { afterEach, describe, expect, it } from 'vitest';
import { startExport } from '../../../src/temporal/client/start.js';
import { holdAnswer } from '../../support/hold.js';
import { type Stack, startStack, until } from '../../support/stack.js';

/** `temporal.api.enums.v1.VersioningBehavior`. */
const PINNED = 1;
const AUTO_UPGRADE = 2;

describe('worker deployment versioning', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  /** As `temporal worker deployment set-current-version` does, once a worker of that build has polled. */
  async function makeCurrent(buildId: string): Promise<void> {
    const { client, namespace } = stack.temporal;
    let lastError: unknown;
    await until(async () => {
      try {
        await client.workflowService.setWorkerDeploymentCurrentVersion({
          namespace,
          deploymentName: stack.connection,
          buildId,
        });
        return true;
      } catch (error) {
        lastError = error;
        return false;
      }
    }, `build ${buildId} is current`).catch(() => {
      throw lastError;
    });
  }

  /** A worker that is still starting would hold up a reading that is held, whose request ends after a minute. */
  function hasPolled(buildId: string): Promise<void> {
    const { client, namespace } = stack.temporal;
    const deploymentVersion = { deploymentName: stack.connection, buildId };
    const isKnown = () =>
      client.workflowService.describeWorkerDeploymentVersion({ namespace, deploymentVersion }).then(
        () => true,
        () => false,
      );
    return until(isKnown, `build ${buildId} has polled`);
  }

  async function versionOf(workflowId: string) {
    const { raw } = await stack.temporal.client.workflow.getHandle(workflowId).describe();
    const { behavior, deploymentVersion } = raw.workflowExecutionInfo?.versioningInfo ?? {};
    return { behavior, buildId: deploymentVersion?.buildId };
  }

  /** Waits, because a mirror that has just continued as new has no version before its first task. */
  async function expectVersion(workflowId: string, expected: Awaited<ReturnType<typeof versionOf>>) {
    await expect.poll(() => versionOf(workflowId)).toEqual(expected);
  }

  it('pins an export to the build that it started on, and moves its mirror to the next', async () => {
    stack = await startStack({
      simulator: { awkward: false, counts: { projects: 30 } },
      resources: '[projects]',
      yaml: '    sync: { pageSize: 1 }\n',
    });
    const build = (buildId: string) =>
      stack.startWorker(stack.settings, { deployment: { deploymentName: stack.connection, buildId } });
    const first = await build('1');
    await makeCurrent('1');
    const mirrorId = stack.mirrorId('projects');
    expect((await stack.export()).outcome).toBe('published');
    await expectVersion(mirrorId, { behavior: AUTO_UPGRADE, buildId: '1' });

    const second = await build('2');
    await hasPolled('2');
    // An export that is in the middle of its reading when build 2 becomes current.
    const held = holdAnswer(stack.simulator, { resource: 'projects', page: 1 });
    const workflowId = await startExport(
      stack.temporal,
      { connection: stack.connection, full: true },
      { taskQueue: stack.taskQueue },
    );
    await until(held.isThere, 'the second export reads');
    await makeCurrent('2');
    held.release();
    const result = await stack.temporal.client.workflow.getHandle(workflowId).result();
    expect(result).toMatchObject({ outcome: 'published' });
    await expectVersion(workflowId, { behavior: PINNED, buildId: '1' });
    await expectVersion(mirrorId, { behavior: AUTO_UPGRADE, buildId: '2' });

    // No workflow needs the old build any more.
    await first.stop();
    expect((await stack.export()).outcome).toBe('published');
    await second.stop();
  });

  it('is off by default, and can be turned on and off during the life of a mirror', async () => {
    stack = await startStack({
      simulator: { awkward: false, counts: { projects: 2 } },
      resources: '[projects]',
    });
    const unversioned = await stack.startWorker();
    const workflowId = await startExport(
      stack.temporal,
      { connection: stack.connection },
      { taskQueue: stack.taskQueue },
    );
    await stack.temporal.client.workflow.getHandle(workflowId).result();
    for (const id of [workflowId, stack.mirrorId('projects')]) {
      await expectVersion(id, { behavior: undefined, buildId: undefined });
      for (const event of (await stack.history(id)).events!) {
        const completed = event.workflowTaskCompletedEventAttributes;
        if (completed) expect([completed.versioningBehavior, completed.deploymentVersion]).toEqual([0, null]);
      }
    }
    await unversioned.stop();
    const deployment = { deploymentName: stack.connection, buildId: '1' };
    const versioned = await stack.startWorker(stack.settings, { deployment });
    await makeCurrent('1');
    expect((await stack.export()).outcome).toBe('published');
    await expectVersion(stack.mirrorId('projects'), { behavior: AUTO_UPGRADE, buildId: '1' });
    await versioned.stop();
    // No build is current: tasks go to workers without versioning.
    await makeCurrent('');
    await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
    expect(await versionOf(stack.mirrorId('projects'))).not.toMatchObject({ behavior: AUTO_UPGRADE });
  });
});
