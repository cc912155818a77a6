import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../support/processes.js';
import { type Stack, startStack, until } from '../../support/stack.js';

interface Run {
  runId: string;
  outcome: string;
  mode: string | null;
  startedAt: string;
  endedAt: string | null;
  rows: number | null;
  counts: { inserted: number; updated: number } | null;
  error: { message: string } | null;
}

describe('worktrack history', () => {
  let stack: Stack;
  const target = (): string[] => ['--config', stack.configFile, '--task-queue', stack.taskQueue];

  async function history(...args: string[]) {
    const { code, stdout, stderr } = await runCommand(stack, ['history', ...target(), '--json', ...args]);
    expect(code, stderr).toBe(0);
    const { resources } = JSON.parse(stdout) as { resources: { name: string; runs: Run[] }[] };
    return { stderr, runs: Object.fromEntries(resources.map(({ name, runs }) => [name, runs])) };
  }

  beforeAll(async () => {
    stack = await startStack({
      resources: '[projects, tasks]',
      simulator: { counts: { projects: 3, tasks: 2 } },
    });
    const worker = await stack.startWorker();
    const exporting = (): Promise<{ code: number | null }> => runCommand(stack, ['export', ...target()]);
    expect((await exporting()).code).toBe(0);
    const [project] = stack.simulator.admin
      .records('projects')
      .map((text) => JSON.parse(text) as { id: string });
    stack.simulator.admin.update('projects', project!.id, { name: 'changed' });
    expect((await exporting()).code).toBe(0);
    const rule = stack.simulator.admin.faults.add({
      match: { resource: 'tasks' },
      fault: { kind: 'status', status: 403 },
    });
    expect((await exporting()).code).toBe(3);
    stack.simulator.admin.faults.remove(rule);
    await worker.stop();
  });
  afterAll(() => stack?.stop());

  it('lists published and refused runs, newest first, without a worker', async () => {
    let runs: Record<string, Run[]> = {};
    await until(async () => {
      ({ runs } = await history());
      return runs.tasks?.[0]?.outcome === 'refused';
    }, 'the server lists the ended run');
    expect(runs.projects?.map(({ outcome, mode, rows }) => [outcome, mode, rows])).toEqual([
      ['published', 'increment', 3],
      ['published', 'increment', 3],
      ['published', 'full', 3],
    ]);
    expect(runs.projects?.[1]?.counts).toMatchObject({ inserted: 0, updated: 1 });
    expect(runs.tasks?.map(({ outcome }) => outcome)).toEqual(['refused', 'published', 'published']);
    expect(runs.tasks?.[0]?.error?.message).toContain('403');
    for (const { startedAt, endedAt } of Object.values(runs).flat())
      expect(Date.parse(endedAt!)).toBeGreaterThanOrEqual(Date.parse(startedAt) - 1000);
  });

  it('shows a table with the reason of each failure, limited by --resource and --limit', async () => {
    const args = ['history', ...target(), '--resource', 'tasks', '--limit', '2'];
    const { code, stdout } = await runCommand(stack, args);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^tasks\n {2}STARTED +MODE +OUTCOME +ROWS +INSERTED +UPDATED +DELETED +TOOK +WARNINGS +RUN\n/,
    );
    expect(stdout).toMatch(/ago +- +refused +- +- +- +- +\S+ +- +\d{8}T\d{6}Z-[0-9a-f]{8}\n/);
    expect(stdout.match(/published/g)).toHaveLength(1);
    expect(stdout).toMatch(/ago: .*403/);
    expect(stdout).not.toContain('projects\n');
  });

  it('shows published runs if Temporal is unreachable, and prints a note', async () => {
    const { runs, stderr } = await history('--address', '127.0.0.1:9');
    expect(runs.tasks?.map(({ outcome }) => outcome)).toEqual(['published', 'published']);
    expect(stderr).toContain('Showing published runs only.');
  });

  it('rejects a resource that is not configured', async () => {
    const { code, stderr } = await runCommand(stack, ['history', ...target(), '--resource', 'nothing']);
    expect(code).toBe(2);
    expect(stderr).toContain('nothing');
  });
});
