import { afterEach, describe, expect, it } from 'vitest';
import { mirrorStatus } from '../../support/mirror-requests.js';
import { runCommand } from '../../support/processes.js';
import { type Stack, startStack } from '../../support/stack.js';

describe('a page size that the service rejected', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('appears in status, and is retried every seven runs until the service accepts it', async () => {
    stack = await startStack({
      simulator: { counts: { tasks: 30 }, tooLargeLimit: 'refuse', pageMax: 20 },
      resources: '[tasks]',
      yaml: '    sync: { pageSize: 40 }\n',
    });
    const { admin } = stack.simulator;
    await stack.startWorker();
    const limitsOfRun = async (): Promise<string[]> => {
      admin.resetStats();
      expect((await stack.export()).outcome).toBe('published');
      return admin.stats().recent.flatMap(({ path }) => /limit=(\d+)/.exec(path)?.[1] ?? []);
    };
    expect(await limitsOfRun()).toEqual(['40', '20', '20']);
    const pageSize = { configured: 40, learned: 20 };
    expect(await mirrorStatus(stack, 'tasks')).toMatchObject({ pageSize });
    const config = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
    const text = await runCommand(stack, ['status', ...config]);
    expect(text.stdout).toContain(
      'tasks: pages of 20 rows, because the service rejects the configured 40 (`sync.pageSize`) or fails at them; larger pages are tried from time to time',
    );
    const json = await runCommand(stack, ['status', '--json', ...config]);
    expect(JSON.parse(json.stdout)).toMatchObject({ connections: [{ resources: [{ pageSize }] }] });

    for (let run = 2; run <= 7; run++) expect(await limitsOfRun()).toEqual(['20']);
    expect(await limitsOfRun()).toEqual(['40', '20']);
    admin.configure({ pageMax: 100 });
    for (let run = 2; run <= 7; run++) expect(await limitsOfRun()).toEqual(['20']);
    expect(await limitsOfRun()).toEqual(['40']);
    expect(await limitsOfRun()).toEqual(['40']);
    expect(await mirrorStatus(stack, 'tasks')).toMatchObject({ pageSize: null });
  });
});
