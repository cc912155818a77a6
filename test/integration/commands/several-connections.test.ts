import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadSettings } from '../../../src/config/index.js';
import { freePort } from '../../support/ports.js';
import { runCommand, startCommand } from '../../support/processes.js';
import { longOnly } from '../../support/seeds.js';
import { type Stack, startStack, until } from '../../support/stack.js';
import { startTcpProxy } from '../../support/tcp-proxy.js';

const NAMES = ['a1', 'b2', 'c3', 'd4', 'e5'];

describe('commands on several connections', { shuffle: false }, () => {
  let stack: Stack;
  let config: string;
  let worker: { stop(): Promise<void> };

  beforeAll(async () => {
    stack = await startStack({
      s3: true,
      simulator: { awkward: false, counts: { projects: 3, tasks: 5 } },
      resources: '[projects, tasks]',
    });
    const [, body = ''] = (await readFile(stack.configFile, 'utf8')).split(/^ {2}[\w-]+:\n/m);
    const lake = /url: "?s3:\/\/[^"\s,}]+/;
    const yaml = NAMES.map((name) => {
      const own = body.replace(lake, (url) => `${url}-${name}`);
      // The key of one connection is missing.
      return `  ${name}:\n${name === 'c3' ? own.replace(/env: \w+/, 'env: NO_SUCH_KEY') : own}`;
    });
    config = join(stack.folder, 'several.yaml');
    await writeFile(config, `connections:\n${yaml.join('')}`);
    const settings = loadSettings({ file: config, env: {}, cwd: stack.folder });
    worker = await stack.startWorker(settings);
  });
  afterAll(() => stack?.stop());

  const run = (args: string, env: NodeJS.ProcessEnv = {}) =>
    runCommand(stack, [...args.split(' '), '--config', config, '--task-queue', stack.taskQueue], env);
  const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');

  it('export all, print one line for each first, and end with the worst exit code', async () => {
    const { code, stdout, stderr } = await run('export --all');
    expect(code).toBe(2);
    const states = linesOf(stdout)
      .slice(0, 5)
      .map((line) => line.split(/ {2,}/).slice(0, 2));
    expect(states).toEqual(NAMES.map((name) => [name, name === 'c3' ? 'failed' : 'published']));
    expect(stdout).toContain('\nc3\n');
    expect(stdout).toContain('NO_SUCH_KEY is not set');
    expect(stderr).toContain('5 connections: 4 published, 1 failed');
  });

  it('preview the export of all, and leave each lake as it is', async () => {
    const { code, stdout } = await run('export --all --dry-run --diff --json');
    const lines = linesOf(stdout).map((line) => JSON.parse(line));
    const { outcome, runs } = lines.at(-1);
    expect([code, outcome, lines.length]).toEqual([2, 'failed', 1]);
    const done = runs.filter((one: { outcome: string }) => one.outcome === 'would-publish');
    expect(done).toHaveLength(8);
    expect(done[0]).toMatchObject({ connection: 'a1', runId: null, dryRun: { diff: null } });
  });

  it('audit all, and print a line for each', async () => {
    const { code, stdout } = await run('audit --all');
    // The connection without a key has published nothing.
    expect(code).toBe(1);
    expect(linesOf(stdout)[0]).toMatch(/^a1 +equal +8 rows, \d+ cells equal$/);
  });

  it('select connections by name, and print JSON for all of them', async () => {
    const { code, stdout } = await run('export --connection e5 --connection a1 --json');
    const { outcome, runs, connections } = JSON.parse(stdout);
    expect([code, outcome]).toEqual([0, 'published']);
    expect(connections).toMatchObject([{ name: 'a1', exitCode: 0 }, { name: 'e5' }]);
    expect(runs.map((one: { connection: string }) => one.connection)).toEqual(['a1', 'a1', 'e5', 'e5']);
  });

  it('show a screen of totals and problems in status, and verify, list and describe all', async () => {
    const status = await run('status', { COLUMNS: '80', LINES: '24' });
    expect(status.code).toBe(0);
    expect(linesOf(status.stdout)[0]).toMatch(/^5 connections: 4 published, 1 failed$/);
    expect(status.stdout).toMatch(/^c3 +failed/m);
    expect(Math.max(...linesOf(status.stdout).map((line) => line.length))).toBeLessThanOrEqual(80);
    const verify = await run('verify --connection a1 --connection b2');
    expect([verify.code, linesOf(verify.stdout)]).toEqual([
      0,
      ['a1  ok  2 resources, 8 rows', 'b2  ok  2 resources, 8 rows'],
    ]);
    // The server lists an ended workflow a moment later.
    await until(async () => {
      const [first = ''] = linesOf((await run('history --all --failing')).stdout);
      return /^c3 +failed/.test(first);
    }, 'the failed run is listed');
    const ddl = await run('ddl --connection a1 --connection b2');
    expect(ddl.stdout).toMatch(/^-- a1 +printed +2 resources\n-- b2/);
    expect(ddl.stdout).toContain('a1_tasks');
    const applied = await run('schedule apply --all');
    expect([applied.code, linesOf(applied.stdout).length]).toEqual([0, 5]);
    await run('schedule pause --connection c3 --note moving');
    const again = await run('schedule apply --all');
    expect(again.stdout).toMatch(/^a1 +unchanged +next run in /m);
    expect(again.stdout).toMatch(/^c3 +unchanged +paused \(moving\)$/m);
    await run('schedule delete --all');
  });

  it('show the status of a few although the lake of one cannot be read', async () => {
    const broken = join(stack.folder, 'broken.yaml');
    const yaml = await readFile(config, 'utf8');
    await writeFile(broken, yaml.replace(/s3:\/\/[\w-]+\/lake-b2/, 's3://no-bucket-of-ours/lake-b2'));
    // Without Temporal, all comes from the lakes.
    const few = ['status', '--connection', 'a1', '--connection', 'b2', '--config', broken];
    const place = ['--address', '127.0.0.1:9'];
    const status = (...more: string[]) =>
      runCommand(stack, [...few, ...place, ...more], { WORKTRACK_REACH_TIMEOUT: '2s' });
    const { code, stdout, stderr } = await status();
    expect(code).toBe(2);
    expect(stdout).toMatch(/^a1\nRESOURCE .*\nprojects +3 /);
    expect(stderr).toMatch(/^b2: .*there is no such bucket/m);
    const json = await status('--json');
    expect([json.code, JSON.parse(json.stdout)]).toMatchObject([
      2,
      {
        fresh: false,
        connections: [
          { name: 'a1', fresh: true },
          { name: 'b2', exitCode: 2 },
        ],
      },
    ]);
  });

  it('print the workflow id with --no-wait, stop waiting after --timeout, and cancel', async () => {
    await worker.stop();
    const { code, stdout } = await run('export --connection a1 --no-wait');
    expect(code).toBe(0);
    const id = stdout.trim();
    expect(id).toMatch(/^worktrack\/a1\/export\/\S+$/);
    const waited = await run('export --connection b2 --timeout 1s');
    expect(waited.code).toBe(130);
    expect(waited.stderr).toContain('did not end within 1s');
    const several = await run('export --all --timeout 2s');
    expect(several.code).toBe(130);
    expect(linesOf(several.stdout)[0]).toMatch(/^a1 +not awaited/);
    const mirror = await run('cancel worktrack/a1/mirror/tasks');
    expect([mirror.code, mirror.stderr]).toEqual([2, expect.stringContaining('resourceMirrorWorkflow')]);
    const missing = await run('cancel worktrack/a1/export/none');
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('There is no workflow')]);
    const cancel = startCommand(stack, ['cancel', id, '--config', config]);
    await until(async () => {
      const { events } = await stack.history(id);
      return events!.some((event) => event.workflowExecutionCancelRequestedEventAttributes);
    }, 'the cancellation is requested');
    worker = await stack.startWorker(loadSettings({ file: config, env: {}, cwd: stack.folder }));
    expect(await cancel.exited).toBe(0);
    expect((await cancel.output()).stdout).toBe('The export was cancelled. Published data stays.\n');
    const again = await run(`cancel ${id}`);
    expect([again.code, again.stdout]).toEqual([0, 'The export has already ended (cancelled).\n']);
  });

  // The test above waits for it; test/unit/temporal/follow-export.test.ts has outages while an export is followed.
  longOnly('waits for the end of a cancelled export, also through an outage of Temporal', async () => {
    // Otherwise, the export could end before the request to cancel it arrives.
    await worker.stop();
    const id = (await run('export --connection b2 --no-wait')).stdout.trim();
    const target = stack.temporal.address;
    const port = await freePort();
    const proxy = await startTcpProxy(target, port);
    const args = ['cancel', id, '--config', config];
    const cancel = startCommand(stack, args, { TEMPORAL_ADDRESS: proxy.address });
    await until(async () => {
      const { events } = await stack.history(id);
      return events!.some((event) => event.workflowExecutionCancelRequestedEventAttributes);
    }, 'the cancellation is requested');
    await proxy.close();
    await until(
      async () => (await cancel.output()).stderr.includes('Temporal at'),
      'the command reports the outage',
      240_000,
    );
    const again = await startTcpProxy(target, port);
    await stack.startWorker(loadSettings({ file: config, env: {}, cwd: stack.folder }));
    expect(await cancel.exited).toBe(0);
    expect((await cancel.output()).stdout).toBe('The export was cancelled. Published data stays.\n');
    await again.close();
  });
});
