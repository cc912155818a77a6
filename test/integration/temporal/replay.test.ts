import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReplayedHistory } from '../../../src/temporal/replay.js';
import { runCommand } from '../../support/processes.js';
import { drawn } from '../../support/seeds.js';
import { type Stack, startStack, until } from '../../support/stack.js';

const RECORDED = join(import.meta.dirname, '../../replay/histories');

interface Printed {
  readonly outcome: string;
  readonly histories: readonly ReplayedHistory[];
}

describe('`worktrack replay`', () => {
  let stack: Stack;
  let files: string[];
  beforeAll(async () => {
    stack = await startStack({
      simulator: { awkward: false, counts: { projects: 5 } },
      resources: '[projects]',
    });
    // `test/replay` replays all of them.
    files = drawn((await readdir(RECORDED)).sort(), 8).map((name) => join(RECORDED, name));
  });
  afterAll(() => stack?.stop());

  const written = async (name: string, text: string): Promise<string> => {
    const file = join(stack.folder, name);
    await writeFile(file, text);
    return file;
  };

  it('replays recorded histories with this build', async () => {
    const { code, stdout, stderr } = await runCommand(stack, ['replay', ...files]);
    expect(code, stdout + stderr).toBe(0);
    const lines = stdout.trim().split('\n');
    expect(lines).toHaveLength(files.length);
    for (const line of lines) expect(line).toMatch(/^replayed {2}\w+Workflow {2}/);
  });

  it('exits with 1 for a history with another order of activities, and replays the others', async () => {
    const text = await readFile(join(RECORDED, 'resourceMirrorWorkflow.spilled.2.json'), 'utf8');
    const names: Record<string, string> = {
      'worktrack.mergePlan': 'worktrack.merge',
      'worktrack.merge': 'worktrack.mergePlan',
    };
    const swapped = text.replace(/worktrack\.merge(?:Plan)?\b/g, (name) => names[name]!);
    expect(swapped).not.toBe(text);
    const file = await written('swapped.json', swapped);
    const { code, stdout, stderr } = await runCommand(stack, ['replay', file, files[0]!]);
    expect(code, stdout + stderr).toBe(1);
    expect(stdout).toContain(`diverged  resourceMirrorWorkflow  ${file}`);
    expect(stdout).toContain(
      "[TMPRL1100] Nondeterminism error: Activity type of scheduled event 'worktrack.merge' does not match",
    );
    expect(stdout).toContain(`${files[0]} (`);
    expect(stderr).toContain('worker deployment versioning');
    expect(stderr).not.toContain('    at ');
  });

  it('exits with 2 for a file that is not a history, before it replays anything', async () => {
    const file = await written('no.json', '{ "name": "no history" }');
    const { code, stdout, stderr } = await runCommand(stack, ['replay', files[0]!, file]);
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(`${file} is not a history that can be replayed`);
    expect(stderr).toContain('temporal workflow show');
    const slips = [[], [join(stack.folder, 'nowhere.json')], [files[0]!, '--from-server']];
    for (const slip of drawn(slips, 1)) expect((await runCommand(stack, ['replay', ...slip])).code).toBe(2);
  });

  it('replays a history of a server, as exported by `temporal` and fetched directly', async () => {
    const worker = await stack.startWorker();
    const global = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
    const exported = await runCommand(stack, ['export', ...global]);
    expect(exported.code, exported.stderr).toBe(0);
    await worker.stop();

    const { stdout: shown } = await promisify(execFile)(
      stack.servers.temporalCli,
      [
        ...['workflow', 'show', '--workflow-id', stack.mirrorId('projects')],
        ...['--output', 'json', '--address', stack.servers.temporalAddress],
      ],
      { maxBuffer: 64 * 2 ** 20 },
    );
    const fromTool = await runCommand(stack, ['replay', await written('shown.json', shown)]);
    expect(fromTool.code, fromTool.stdout + fromTool.stderr).toBe(0);

    const fromServer = (...more: string[]) =>
      runCommand(stack, ['replay', '--from-server', ...global, ...more, '--json']);
    let listed = '';
    await until(async () => {
      listed = (await fromServer()).stdout;
      return listed.match(/"outcome": "replayed"/g)?.length === 4;
    }, 'all three workflows can be listed');
    const all = JSON.parse(listed) as Printed;
    const types = all.histories.map(({ workflowType }) => workflowType);
    expect(types.sort()).toEqual(['exportWorkflow', 'resourceMirrorWorkflow', 'workerConfigurationWorkflow']);
    const mirror = stack.mirrorId('projects');
    const choices = [
      ['--connection', stack.connection, '--limit', '1'],
      ['--workflow-id', mirror],
    ];
    for (const args of drawn(choices, 1)) {
      const { code, stdout } = await fromServer(...args);
      expect(code).toBe(0);
      expect((JSON.parse(stdout) as Printed).histories.map(({ name }) => name)).toEqual([mirror]);
    }
  });

  it('fails if there was nothing to replay', async () => {
    const { code, stderr } = await runCommand(stack, [
      'replay',
      '--from-server',
      '--task-queue',
      `empty-${stack.taskQueue}`,
    ]);
    expect(code).toBe(2);
    expect(stderr).toContain('found no workflows of this package to replay');
  });
});
