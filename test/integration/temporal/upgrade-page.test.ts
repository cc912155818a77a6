import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { startTemporalDevServer, type TemporalDevServer } from '../../../src/servers/index.js';
import { startExport } from '../../../src/temporal/client/start.js';
import { DRAINS_SOON } from '../../support/drains-soon.js';
import { holdAnswer } from '../../support/hold.js';
import { type CommandProcess, runCommand, startCommand } from '../../support/processes.js';
import { type Stack, startStack, until } from '../../support/stack.js';

/** The commands of the page that begin so, without comments, in their order. */
function commandsOf(page: string, begin: string): string[][] {
  const blocks = [...page.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block]) => block!.trim().split('\n'));
  return blocks
    .filter((line) => line.startsWith(begin))
    .map((line) =>
      line
        .slice(begin.length)
        .replace(/ +#.*| > .*/, '')
        .trim()
        .split(' '),
    );
}

describe('the page about upgrades', () => {
  const page = readFileSync('docs/how-to/upgrade.md', 'utf8');
  const [replay, replayFile, worker, upgrade, unversioned] = commandsOf(page, 'worktrack ');
  const [show, unset] = commandsOf(page, 'temporal ');
  let temporal: TemporalDevServer;
  let stack: Stack;

  beforeAll(async () => {
    const executable = inject('servers').temporalCli;
    temporal = await startTemporalDevServer({ executable, headless: true, extraArgs: DRAINS_SOON });
    stack = await startStack({
      resources: '[tasks]',
      temporalAddress: temporal.address,
      simulator: { awkward: false, counts: { tasks: 30 } },
      yaml: '    sync: { pageSize: 1 }\n',
    });
  });
  afterAll(async () => {
    await stack?.stop();
    await temporal?.stop();
  });

  const place = () => ['--config', stack.configFile, '--task-queue', stack.taskQueue];
  const build = (words: readonly string[], id: string) =>
    words.map((word) =>
      word === '0.2.0' ? id : word.replace('worktrack/acme/', `worktrack/${stack.connection}/`),
    );
  const command = (words: readonly string[], id = '0.2.0') =>
    startCommand(stack, [...build(words, id), ...place()]);
  const temporalCli = async (words: readonly string[]): Promise<string> => {
    const args = [...build(words, ''), '--address', temporal.address];
    return (await promisify(execFile)(inject('servers').temporalCli, args)).stdout;
  };
  const said = async (one: CommandProcess) => (await one.output()).stderr;

  it('can be followed word by word while a run is in flight', async () => {
    const old = command(worker!, '0.1.9');
    stack.beforeStop(() => old.signal('SIGTERM'));
    expect(await command(upgrade!, '0.1.9').exited).toBe(0);
    const held = holdAnswer(stack.simulator, { resource: 'tasks', page: 2 });
    const workflowId = await startExport(
      stack.temporal,
      { connection: stack.connection },
      { taskQueue: stack.taskQueue },
    );
    await until(held.isThere, 'a run is in flight');

    expect((await runCommand(stack, [...replay!, ...place()])).code).toBe(0);
    const history = join(stack.folder, 'history.json');
    await writeFile(history, await temporalCli(show!));
    expect(replayFile).toEqual(['replay', 'history.json']);
    expect((await runCommand(stack, ['replay', history])).code).toBe(0);

    const next = command(worker!, '0.2.0');
    stack.beforeStop(() => next.signal('SIGTERM'));
    const upgrading = command(upgrade!);
    await until(
      async () => (await said(upgrading)).includes('Build 0.2.0 is the current version now'),
      'it is current',
    );
    held.release();
    expect(await stack.temporal.client.workflow.getHandle(workflowId).result()).toMatchObject({
      outcome: 'published',
    });
    expect(await upgrading.exited).toBe(0);
    expect(await said(upgrading)).toMatch(/0\.1\.9.* may stop/);
    await old.signal('SIGTERM');

    const after = await runCommand(stack, ['export', '--full', ...place()]);
    expect([after.code, after.stderr]).toEqual([0, expect.not.stringContaining('waits for build')]);

    await temporalCli(unset!);
    await next.signal('SIGTERM');
    const plain = command(unversioned!);
    stack.beforeStop(() => plain.signal('SIGTERM'));
    expect((await runCommand(stack, ['export', '--full', ...place()])).code).toBe(0);
  });
});
