import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readPublished } from '../../../src/lake/published/read-published.js';
import { mirrorStatus } from '../../support/mirror-requests.js';
import { readNewestView } from '../../support/newest-view.js';
import { runCommand } from '../../support/processes.js';
import { drawn } from '../../support/seeds.js';
import { readPointer } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

const CHECKS = `checks: [ { rows: { min: 10 } }, { change: { max: 20% } }, { notNull: [title2] }, { unique: [ref] }, { newest: { field: updatedAt, maxAge: 3d } } ]`;

/** Options of a run that checks stop. */
const RUNS: [string, string[]][] = [
  ['a run in memory', []],
  ['a full run', ['--full']],
];

interface RunJson {
  readonly outcome: string;
  readonly runs: readonly {
    readonly outcome: string;
    readonly error: { type: string; message: string } | null;
  }[];
}

describe('checks before publish', { shuffle: false }, () => {
  let stack: Stack;
  /** The record with a defect. */
  let wrong: string;

  const command = (name: string, ...args: string[]) =>
    runCommand(stack, [name, '--config', stack.configFile, '--task-queue', stack.taskQueue, ...args]);
  const local = (name: string, ...args: string[]) =>
    runCommand(stack, [name, '--config', stack.configFile, ...args]);
  const current = async () => (await readPublished(stack.store, 'tasks')).manifest;

  /** Names of all parts in the folders of runs. */
  async function parts(): Promise<string[]> {
    const folder = join(stack.lakeFolder, 'tasks');
    const files = await readdir(folder, { recursive: true });
    return files.filter((file) => /part-\d+-[0-9a-f]+\.csv/.test(file)).sort();
  }

  beforeAll(async () => {
    stack = await startStack({
      simulator: { counts: { tasks: 0 } },
      resources: `[{ name: tasks, ${CHECKS} }]`,
      yaml: '    sync: { overlap: 1s }\n',
    });
    for (let n = 0; n < 30; n++)
      stack.simulator.admin.create('tasks', { title2: `secret title ${n}`, ref: `ref-${n}` });
    await stack.startWorker();
    const first = await stack.export();
    expect(first.outcome, JSON.stringify(first.runs)).toBe('published');
    expect(first.runs[0]!.checks).toEqual({ passed: 4, skipped: 1, warned: [], accepted: [] });
  });
  afterAll(() => stack?.stop());

  it.each(drawn(RUNS, 1))('stop %s: exit code 1, and nothing of it is published', async (_, options) => {
    const before = await readPointer(stack.store, 'tasks');
    const known = await parts();
    wrong ??= stack.simulator.admin.create('tasks', { title2: null, ref: 'ref-7' });
    const ended = await command('export', '--json', ...options);
    expect(ended.code, ended.stderr).toBe(1);
    const { outcome, runs } = JSON.parse(ended.stdout) as RunJson;
    expect([outcome, runs[0]!.outcome, runs[0]!.error]).toEqual([
      'failed',
      'failed',
      {
        type: 'Check',
        message: expect.stringContaining(
          'notNull(title2): allowed no null; found 1 of 31 rows is null. unique(ref): allowed no value twice; found 2 of 31 rows share a value with another row.',
        ),
        checks: ['notNull(title2)', 'unique(ref)'],
      },
    ]);
    expect(ended.stdout).not.toContain('secret title');
    expect(await readPointer(stack.store, 'tasks')).toEqual(before);
    expect(await parts()).toEqual(known);
    const { newest, snapshot } = await readNewestView(stack, 'tasks');
    expect([newest.size, newest.has(wrong), snapshot.has(wrong)]).toEqual([30, false, false]);
    const status = await mirrorStatus(stack, 'tasks');
    expect(status.checkpoint).toEqual(before.checkpoint);
  });

  it('are shown by status and history after they have stopped a run', async () => {
    const status = await command('status');
    expect(status.stdout).toContain('notNull(title2)');
    expect(status.stdout).toContain('checks: tasks 4 passed, 1 skipped');
    const history = await local('history');
    expect(history.stdout).toContain('checks failed');
    const json = JSON.parse((await local('history', '--json')).stdout) as {
      resources: { runs: { outcome: string; checks: { name: string }[] | null }[] }[];
    };
    const published = json.resources[0]!.runs.find(({ outcome }) => outcome === 'published')!;
    expect(published.checks!.map(({ name }) => name)).toEqual([
      'rows',
      'change',
      'notNull(title2)',
      'unique(ref)',
      'newest(updatedAt)',
    ]);
  });

  it('let one run pass with --accept-checks, and the manifest says who accepted what', async () => {
    const ended = await command('export', '--accept-checks');
    expect(ended.code, ended.stderr).toBe(0);
    expect(`${ended.stdout}${ended.stderr}`).toContain('accepted by ');
    const { checks, warnings } = await current();
    expect(checks!.map(({ name, outcome, rows }) => [name, outcome, rows])).toEqual([
      ['rows', 'passed', 31],
      ['change', 'skipped', 31],
      ['notNull(title2)', 'accepted', 1],
      ['unique(ref)', 'accepted', 2],
      ['newest(updatedAt)', 'passed', 31],
    ]);
    expect(checks![2]).toMatchObject({ acceptedBy: expect.stringMatching(/^.+@.+$/) });
    expect(warnings).toHaveLength(2);

    stack.simulator.admin.create('tasks', { title2: 'good', ref: 'ref-100' });
    const next = await stack.export();
    expect(next.runs[0]!.error?.type).toBe('Check');
  });

  it('are in the report, in verify and in the dbt project', async () => {
    stack.simulator.admin.update('tasks', wrong, { title2: 'good', ref: 'ref-101' });
    const healed = await stack.export();
    expect(healed.outcome, JSON.stringify(healed.runs)).toBe('published');
    const verified = await local('verify');
    expect(verified.code, verified.stdout).toBe(0);
    expect(verified.stdout).toContain('checks: 4 passed, 1 skipped');

    const page = join(stack.folder, 'report.html');
    const report = await local('report', '--out', page);
    expect(report.code, report.stderr).toBe(0);
    const { readFile } = await import('node:fs/promises');
    const html = await readFile(page, 'utf8');
    expect(html).toContain('<h3>Checks</h3>');
    expect(html).toMatch(/notNull\(title2\)<\/bdi>.*aria-label="[^"]*1 accepted[^"]*passed"/);

    const project = join(stack.folder, 'dbt');
    const dbt = await local('dbt', '--dir', project);
    expect(dbt.code, dbt.stderr).toBe(0);
    const tests = await readFile(join(project, 'models/worktrack/tasks.yml'), 'utf8');
    expect(tests).toContain('worktrack_row_count');
  });

  it('compare the rows that a purge has left', async () => {
    const purged = await runCommand(stack, [
      ...['purge', '--config', stack.configFile, '--task-queue', stack.taskQueue],
      ...['--resource', 'tasks', '--key', wrong],
    ]);
    expect(purged.code, purged.stderr).toBe(0);
    stack.simulator.admin.remove('tasks', [wrong]);
    stack.simulator.admin.create('tasks', { title2: 'good', ref: 'ref-101' });
    const next = await stack.export();
    expect(next.outcome, JSON.stringify(next.runs)).toBe('published');
    const { checks, parts: after } = await current();
    expect(checks!.find(({ name }) => name === 'rows')!.rows).toBe(32);
    expect(after.every((part) => part.checks !== undefined)).toBe(true);
  });
});
