import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ExportResult, exportWorkflowId } from '../../../src/core/contract/index.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { runCommand } from '../../support/processes.js';
import { readPointer, runsIn } from '../../support/snapshot.js';
import { resultOf, type Stack, startStack, until } from '../../support/stack.js';

describe('the report of an export', { shuffle: false }, () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({
      s3: true,
      simulator: { seed: 5, counts: { projects: 12, tasks: 40 } },
      resources: '[projects, tasks, members]',
    });
    await stack.startWorker();
  });
  afterAll(() => stack?.stop());

  const queue = (): string[] => ['--task-queue', stack.taskQueue];
  const args = (...more: string[]) => ['report', '--config', stack.configFile, ...queue(), ...more];

  it('shows the runs of a resource, and no run writes a page into the lake', async () => {
    const first = await stack.export({ resources: ['projects', 'tasks'] });
    stack.simulator.admin.touch('projects', { count: 3, pick: 'spread' });
    const second = await stack.export({ resources: ['projects', 'tasks'] });
    expect([first.outcome, second.outcome]).toEqual(['published', 'published']);
    const { runId } = await readPointer(stack.store, 'projects');
    const page = (await runCommand(stack, args('--resource', 'projects'))).stdout;
    expect(page).toContain(runId);
    expect(page).toMatch(/<dt>Updated<\/dt><dd>3<\/dd>/);
    expect(page).toContain('Last 2 runs');
    expect((await verifySnapshot(stack.store, 'projects')).problems).toEqual([]);
    for await (const { key } of stack.store.list('projects/')) expect(key).not.toMatch(/html$/);
  });

  it('is printed over all resources by `report`, and says so if Temporal does not answer', async () => {
    const away = { TEMPORAL_ADDRESS: '127.0.0.1:1', WORKTRACK_REACH_TIMEOUT: '6s' };
    const { code, stdout, stderr } = await runCommand(stack, args(), away);
    expect(stderr).toContain('Showing published runs only.');
    expect(code).toBe(0);
    for (const text of [
      '<bdi>projects</bdi>',
      '<bdi>tasks</bdi>',
      'No run is published yet.',
      'Temporal did not respond, so failed and running runs are missing.',
    ])
      expect(stdout).toContain(text);
    const only = await runCommand(stack, args('--resource', 'tasks'));
    expect(only.stdout).not.toContain('<bdi>projects</bdi>');
    expect(only.stdout).not.toContain('did not answer');
    expect(only.stdout).not.toContain('No worker answered');
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

  it('starts with the resource whose runs fail, with their number and the reason', async () => {
    const fault = { kind: 'status' as const, status: 403 };
    const rule = stack.simulator.admin.faults.add({ match: { resource: 'tasks' }, fault });
    for (let night = 0; night < 3; night++) expect((await nightly(night)).outcome).toBe('refused');
    stack.simulator.admin.faults.remove(rule);
    let stdout = '';
    // The server lists an ended workflow a moment later.
    await until(async () => {
      stdout = (await runCommand(stack, args())).stdout;
      return stdout.includes('3 failed, ');
    }, 'the page shows three failed runs');
    const table = stdout.slice(stdout.indexOf('<table'), stdout.indexOf('</table>'));
    expect(table.indexOf('<bdi>tasks</bdi>')).toBeLessThan(table.indexOf('<bdi>projects</bdi>'));
    expect(table).toMatch(/<span class="tag bad">refused<\/span>/);
    expect(table).toMatch(/<b>3 failed runs since [^<]*UTC:<\/b> <bdi>[^<]*403/);
    expect(table).toContain('aria-label="2 published, 3 failed, ');
    const at = (await readPointer(stack.store, 'tasks')).runId;
    const then = await runCommand(stack, args('--resource', 'tasks', '--run', at));
    expect(then.stdout).not.toContain('403');
    expect((await stack.export({ resources: ['tasks'] })).outcome).toBe('published');
    const recovered = await runCommand(stack, args('--resource', 'tasks'));
    expect(recovered.stdout).toContain('tag ok">published</span>');
    expect(recovered.stdout).not.toContain('tag bad');
    expect(recovered.stdout).toContain('3 published, 3 failed, ');
  });

  it('covers several connections, and shows a lake that cannot be read next to the others', async () => {
    const file = join(stack.folder, 'several.yaml');
    const own = await readFile(stack.configFile, 'utf8');
    const copy = (name: string, change: (yaml: string) => string) =>
      change(own).replace('connections:\n', '').replace(`  ${stack.connection}:`, `  ${name}:`);
    const other = copy('other', (yaml) => yaml.replace('/lake"', '/empty"'));
    const away = copy('away', (yaml) => yaml.replace(/endpoint: "[^"]*"/, 'endpoint: "http://127.0.0.1:9"'));
    await writeFile(file, `${own}\n${other}\n${away}\n`);
    const report = (...more: string[]) =>
      runCommand(stack, ['report', '--config', file, ...queue(), ...more], { WORKTRACK_REACH_TIMEOUT: '6s' });

    // Side by side, because most of them wait for the lake that is away.
    const [all, two, one] = await Promise.all([
      report('--all'),
      report('--connection', stack.connection, '--connection', 'other'),
      report('--connection', 'away'),
    ]);
    expect(all.code, all.stderr).toBe(4);
    expect(all.stderr).toMatch(/away: The lake .* has been unreachable/);
    expect(all.stdout).toContain('<h1><bdi>3 connections</bdi></h1>');
    const table = all.stdout.slice(all.stdout.indexOf('<table'), all.stdout.indexOf('</table>'));
    expect(table.indexOf('>away<')).toBeLessThan(table.indexOf('>other<'));
    expect(table.indexOf('>other<')).toBeLessThan(table.indexOf(`>${stack.connection}</bdi> <bdi>projects<`));
    expect(table).toMatch(/These 3 resources\. <bdi>The lake [^<]* has been unreachable/);

    expect(two.code, two.stderr).toBe(0);
    expect(two.stdout).toContain('<h1><bdi>2 connections</bdi></h1>');
    expect(two.stdout).not.toContain('away');
    expect(one.code).toBe(4);
    const mistakes = [
      [[], 'Choose some with --connection, or all with --all.'],
      [['--all', '--connection', 'other'], 'use either --all or --connection'],
      [['--all', '--run', '20200101T000000Z-00000000'], '--run needs one connection'],
      [['--all', '--max-age', 'old'], '--max-age must be a duration'],
      [['--connection', 'nonsense'], 'has no connection "nonsense"'],
    ] as const;
    const wrong = await Promise.all(mistakes.map(([words]) => report(...words)));
    for (const [at, { code, stderr }] of wrong.entries()) {
      expect(code).toBe(2);
      expect(stderr).toContain(mistakes[at]![1]);
    }
  });

  /** An export with the id of a nightly run of the Schedule. */
  function nightly(night: number): Promise<ExportResult> {
    const { client } = stack.temporal;
    return client.workflow
      .execute('exportWorkflow', {
        workflowId: `${exportWorkflowId(stack.connection)}-night-${night}`,
        taskQueue: stack.taskQueue,
        args: [{ connection: stack.connection, resources: ['projects', 'tasks'] }],
      })
      .catch(resultOf);
  }

  /** Runs of the projects, oldest first. */
  async function runs(): Promise<string[]> {
    return (await runsIn(stack.store, 'projects', 'changes')).map((run) => run.slice('run='.length)).sort();
  }
});
