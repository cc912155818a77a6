import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { DEMO_ORGANIZATION } from '../../../src/simulator/index.js';
import { historyText } from '../../support/history-text.js';
import { runCommand, startWorkerProcess } from '../../support/processes.js';
import { readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

const SECRET = 'wt_marker_5f0c1d7e9a';

describe('a refusal by the service', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  async function exportJson() {
    const args = ['export', '--config', stack.configFile, '--task-queue', stack.taskQueue, '--json'];
    const { code, stdout, stderr } = await runCommand(stack, args);
    return { code, stdout, stderr, result: JSON.parse(stdout) };
  }

  it('a refusal by the service because of a wrong key ends the run with exit code 3, and no history, file or log contains the key', async () => {
    stack = await startStack({
      apiKey: SECRET,
      resources: '[projects, tasks]',
      simulator: { echoAuthorization: true, counts: { projects: 3 } } as object,
    });
    const worker = await startWorkerProcess(stack);
    const { code, result, stdout, stderr } = await exportJson();
    await worker.signal('SIGTERM');
    const printed = [stdout, stderr, ...Object.values(await worker.output())].join('\n');
    expect(code).toBe(3);
    expect(result.outcome).toBe('refused');
    expect(result.runs.map((run: { outcome: string }) => run.outcome)).toEqual(['refused', 'refused']);
    expect(stderr).toMatch(/key/i);
    expect(printed).not.toContain(SECRET);
    for await (const { workflowId, runId } of stack.workflows()) {
      const history = await stack.temporal.client.workflow.getHandle(workflowId, runId).fetchHistory();
      expect(historyText(history)).not.toContain(SECRET);
    }
    // A run that is refused at its first page writes nothing.
    const files = await readdir(stack.lakeFolder, { recursive: true, withFileTypes: true }).catch(() => []);
    for (const file of files) {
      if (file.isFile())
        expect(await readFile(join(file.parentPath, file.name), 'latin1')).not.toContain(SECRET);
    }
  });

  it('a refusal by the service because of a plan without API access ends the run with exit code 3 and names the cause', async () => {
    stack = await startStack({ resources: '[projects]', simulator: { withoutApi: [DEMO_ORGANIZATION] } });
    await stack.startWorker();
    const { code, result, stderr } = await exportJson();
    expect(code).toBe(3);
    expect(result.runs[0]).toMatchObject({ outcome: 'refused', error: { scope: 'plan' } });
    expect(stderr).toMatch(/plan/i);
  });

  it('a refusal by the service because of a missing grant ends the resource with exit code 3, and the others are published', async () => {
    stack = await startStack({
      apiKey: 'some-key',
      resources: '[projects, tasks]',
      simulator: { counts: { projects: 3, tasks: 2 } },
    });
    stack.simulator.admin.keys.add({
      key: 'some-key',
      name: 'half',
      organization: DEMO_ORGANIZATION,
      grants: ['projects:read'],
    });
    await stack.startWorker();
    const { code, result, stderr } = await exportJson();
    expect(code).toBe(3);
    expect(result.runs).toMatchObject([
      { resource: 'projects', outcome: 'published', rows: 3 },
      { resource: 'tasks', outcome: 'refused', error: { scope: 'grant' } },
    ]);
    expect(stderr).toContain('tasks');
    expect((await readSnapshot(stack.store, 'projects')).rows.length).toBe(3);
  });
});
