import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CommandProcess, runCommand, startWorkerProcess } from '../../support/processes.js';
import { type Stack, startStack, until } from '../../support/stack.js';

interface Resource {
  readonly name: string;
  readonly state: string;
  readonly rows: number | null;
  readonly fresh: boolean;
  readonly source: string;
  readonly lastRun: { readonly runId: string; readonly outcome: string } | null;
  readonly error: { readonly type: string; readonly message: string } | null;
  readonly active: {
    readonly retrying: { since: string; error: string; attempt: number; nextAttemptAt: string | null } | null;
  } | null;
  readonly rolledBack: { readonly from: string; readonly to: string } | null;
}

describe('worktrack status', { shuffle: false }, () => {
  let stack: Stack;
  let worker: CommandProcess;
  const target = (): string[] => ['--config', stack.configFile, '--task-queue', stack.taskQueue];
  const run = (...args: string[]) => runCommand(stack, [...args, ...target()]);
  const status = async (): Promise<Record<string, Resource>> => {
    const { code, stdout, stderr } = await run('status', '--json');
    expect(code, stderr).toBe(0);
    const [connection] = (JSON.parse(stdout) as { connections: [{ resources: Resource[] }] }).connections;
    return Object.fromEntries(connection.resources.map((resource) => [resource.name, resource]));
  };
  const check = async (...more: string[]) => (await run('status', '--check', ...more)).code;
  const published: string[] = [];

  beforeAll(async () => {
    stack = await startStack({
      s3: true,
      resources: '[projects, tasks]',
      simulator: { counts: { projects: 3, tasks: 2 } },
    });
    worker = await startWorkerProcess(stack);
    for (let i = 0; i < 2; i++) {
      const exported = await run('export', '--json');
      expect(exported.code, exported.stderr).toBe(0);
      const { runs } = JSON.parse(exported.stdout) as { runs: { resource: string; runId: string }[] };
      published.push(runs.find(({ resource }) => resource === 'tasks')!.runId);
    }
  });
  afterAll(() => stack?.stop());

  it('says that everything is published, and --check agrees unless it is too old', async () => {
    expect(await status()).toMatchObject({
      projects: { state: 'published', fresh: true, error: null, active: null, source: 'mirror' },
      tasks: { state: 'published', fresh: true, rows: 2 },
    });
    expect([await check(), await check('--max-age', '1s'), await check('--max-age', 'x')]).toEqual([0, 1, 2]);
  });

  it('says since when, why and how often a run retries', async () => {
    const fault = stack.simulator.admin.faults.add({ fault: { kind: 'status', status: 503 } });
    const { workflowId } = await stack.temporal.client.workflow.start('exportWorkflow', {
      workflowId: `${stack.connection}-retrying`,
      taskQueue: stack.taskQueue,
      args: [{ connection: stack.connection, resources: ['tasks'] }],
    });
    let tasks: Resource | undefined;
    await until(async () => {
      ({ tasks } = await status());
      return tasks?.state === 'retrying';
    }, 'the status shows the retries');
    const retrying = tasks?.active?.retrying;
    expect(retrying?.error).toContain('503');
    expect(retrying?.attempt).toBeGreaterThan(0);
    expect(Date.parse(retrying!.since)).toBeGreaterThan(Date.now() - 300_000);
    const isShown = async () =>
      /tasks: retrying since .*; attempt \d+ failed, /.test((await run('status')).stdout);
    await until(isShown, 'the text shows them');
    stack.simulator.admin.faults.remove(fault);
    await stack.temporal.client.workflow.getHandle(workflowId).result();
  });

  it('shows the run that a rollback returned to, how to undo it, and then the abandoned runs', async () => {
    const [first, second] = published as [string, string];
    const now = (await status()).tasks!.lastRun!.runId;
    const back = await run('rollback', '--resource', 'tasks', '--to', first);
    expect(back.stdout).toContain(`publishes the rows of run ${first}`);
    // The command is as the user can type it, with the options of this one.
    expect(back.stdout).toContain(`main.js rollback --config ${stack.configFile} `);
    expect(back.stdout).toContain(`--connection ${stack.connection} --resource tasks --to ${now}`);
    expect((await status()).tasks).toMatchObject({
      state: 'rolled-back',
      rolledBack: { from: now, to: first },
      // The rollback is the last run.
      lastRun: { outcome: 'published', publishedAt: expect.any(String) },
    });
    const abandoned = async (): Promise<string[]> => {
      const { stdout } = await run('history', '--resource', 'tasks', '--json');
      const [tasks] = (
        JSON.parse(stdout) as { resources: [{ runs: { runId: string; rolledBack: boolean }[] }] }
      ).resources;
      return tasks.runs.filter(({ rolledBack }) => rolledBack).map(({ runId }) => runId);
    };
    expect(await abandoned()).toEqual([now, second]);
    expect((await run('export')).code).toBe(0);
    expect((await status()).tasks).toMatchObject({ state: 'published', rolledBack: null });
    expect(await abandoned()).toEqual([now, second]);
    // They stay on the chain.
    const late = await run('rollback', '--resource', 'tasks', '--to', second);
    expect(late.stdout).toContain(`publishes the rows of run ${second}`);
  });

  it('refuses to show the rows of another connection', async () => {
    const other = await startStack({
      s3: true,
      beside: stack,
      connection: 'other',
      resources: '[tasks]',
      baseUrl: stack.simulator.url,
    });
    try {
      const { code, stdout } = await runCommand(other, ['status', '--config', other.configFile, '--json']);
      const [tasks] = (JSON.parse(stdout) as { connections: [{ resources: Resource[] }] }).connections[0]
        .resources;
      expect([code, tasks]).toMatchObject([0, { state: 'other-owner', rows: null, fresh: false }]);
      expect(tasks?.error?.message).toContain(`belongs to run`);
      expect(tasks?.error?.message).toContain(`of connection "${stack.connection}"`);
    } finally {
      await other.stop();
    }
  });

  it('shows a refused run even after every worker has stopped', async () => {
    stack.simulator.admin.faults.add({
      match: { resource: 'tasks' },
      fault: { kind: 'status', status: 403 },
    });
    expect((await run('export')).code).toBe(3);
    expect((await status()).tasks).toMatchObject({ state: 'refused', source: 'mirror' });
    await worker.signal('SIGTERM');
    // A worker that could not withdraw its configuration in time counts as polling for two minutes.
    await until(async () => (await status()).projects?.state === 'no-worker', 'no worker polls');
    await until(async () => (await status()).tasks?.state === 'refused', 'the server lists the ended export');
    expect((await status()).tasks).toMatchObject({
      source: 'latest.json',
      error: { type: 'Refused' },
      lastRun: { outcome: 'refused' },
      fresh: false,
    });
    const { stdout } = await run('status');
    expect(stdout).toContain(`no worker polls task queue "${stack.taskQueue}"`);
    expect(await check()).toBe(1);
  });
});
