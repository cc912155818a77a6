import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { folderOf, inFolder, REPORT } from '../../../src/lake/published/layout.js';
import { verifySnapshot } from '../../../src/lake/verify/verify.js';
import { runCommand } from '../../support/processes.js';
import { readPointer } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

describe('the report of an export', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({
      simulator: { seed: 5, counts: { projects: 12, tasks: 40 } },
      resources: '[projects, tasks, members]',
    });
    await stack.startWorker();
  });
  afterAll(() => stack?.stop());

  const args = (...more: string[]) => ['report', '--config', stack.configFile, ...more];

  it('is stored next to the manifest after each export, and the snapshot stays valid', async () => {
    const first = await stack.export({ resources: ['projects', 'tasks'] });
    stack.simulator.admin.touch('projects', { count: 3, pick: 'spread' });
    const second = await stack.export({ resources: ['projects', 'tasks'] });
    expect([first.outcome, second.outcome]).toEqual(['published', 'published']);
    const { snapshot, runId } = await readPointer(stack.store, 'projects');
    const page = (await stack.store.read(inFolder(folderOf(snapshot), REPORT))).toString();
    expect(page).toContain(runId);
    expect(page).toMatch(/<dt>Updated<\/dt><dd>3<\/dd>/);
    expect(page).toContain('Last 2 published runs');
    expect((await verifySnapshot(stack.store, 'projects')).problems).toEqual([]);
    expect(await stack.store.head(inFolder(folderOf(first.runs[0]!.snapshot!), REPORT))).not.toBeNull();
  });

  it('is printed for all resources by `report`, without a worker or Temporal', async () => {
    const { code, stdout, stderr } = await runCommand(stack, args(), { TEMPORAL_ADDRESS: '127.0.0.1:1' });
    expect(stderr).toBe('');
    expect(code).toBe(0);
    for (const text of ['<bdi>projects</bdi>', '<bdi>tasks</bdi>', 'No run is published yet.'])
      expect(stdout).toContain(text);
    const only = await runCommand(stack, args('--resource', 'tasks'));
    expect(only.stdout).not.toContain('<bdi>projects</bdi>');
  });

  it('is written to a file, and shown in the browser of the user', async () => {
    const [first, now] = await runs();
    const out = join(stack.folder, 'out.html');
    const seen = join(stack.folder, 'seen');
    const written = await runCommand(stack, args('--run', first!, '--out', out));
    expect(written).toMatchObject({ code: 0, stdout: '', stderr: `The report is in ${out}\n` });
    const page = await readFile(out, 'utf8');
    expect(page).toContain(first);
    expect(page).not.toContain(now);
    expect(page).not.toContain('<bdi>tasks</bdi>');
    const opened = await runCommand(stack, args('--open', '--out', out), { BROWSER: 'true' });
    expect(opened.code).toBe(0);
    const missing = await runCommand(stack, args('--open', '--out', out), { BROWSER: seen });
    expect(missing.code).toBe(0);
    expect(missing.stderr).toContain(`Cannot start a browser with ${seen}. Open file://`);
  });

  it('explains why a report is not possible, with exit code 2', async () => {
    const bad = await runCommand(stack, args('--run', 'yesterday'));
    expect(bad.code).toBe(2);
    expect(bad.stderr).toContain('--run must be a run id such as');
    const unknown = await runCommand(stack, args('--run', '20200101T000000Z-00000000'));
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('is not a published run of projects, tasks, members');
    const folder = await runCommand(stack, args('--out', join(stack.folder, 'no/such/folder.html')));
    expect(folder.code).toBe(2);
    expect(folder.stderr).toContain('cannot write --out');
    expect((await runCommand(stack, args('--resource', 'nonsense'))).code).toBe(2);
  });

  /** Runs of the projects, oldest first. */
  async function runs(): Promise<string[]> {
    const found: string[] = [];
    for (const date of await stack.store.listFolders('projects/changes/')) {
      for (const run of await stack.store.listFolders(`projects/changes/${date}/`)) found.push(run.slice(4));
    }
    return found.sort();
  }
});
