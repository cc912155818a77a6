import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, it, type TestContext } from 'vitest';
import { holdAnswer, letNextRunSpill } from '../../support/hold.js';
import { longOnly } from '../../support/seeds.js';
import { type Stack, startStack, until } from '../../support/stack.js';

const CLI = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url));

interface Started {
  readonly printed: { stdout: string; stderr: string };
  readonly exited: Promise<number | null>;
  ctrlC(): void;
}

interface Place {
  readonly stack: Stack;
  exportLocal(): Started;
}

/** A service and its connection for one test, which ends what it has started. */
async function startPlace({ onTestFinished }: TestContext, giveUpAfterMs = 600_000): Promise<Place> {
  const stack = await startStack({
    simulator: { awkward: false, counts: { tasks: 100 } },
    resources: '[tasks]',
    yaml: `    sync: { pageSize: 20 }\n    retries: { giveUpAfter: ${giveUpAfterMs / 1000}s }\n`,
  });
  const started: ChildProcess[] = [];
  onTestFinished(async () => {
    for (const child of started) if (child.exitCode === null) process.kill(-child.pid!, 'SIGKILL');
    await stack.stop();
  });

  /** Starts the command in a separate process group, like a foreground job of a shell. */
  function exportLocal(): Started {
    const child = spawn(
      process.execPath,
      [CLI, 'export', '--local', '--json', '--config', stack.configFile],
      {
        cwd: stack.folder,
        env: { ...stack.env, XDG_STATE_HOME: join(stack.folder, 'state'), TEMPORAL_ADDRESS: undefined },
        stdio: ['ignore', 'pipe', 'pipe'],
        detached: true,
      },
    );
    started.push(child);
    const printed = { stdout: '', stderr: '' };
    child.stdout.on('data', (text) => (printed.stdout += String(text)));
    child.stderr.on('data', (text) => (printed.stderr += String(text)));
    const exited = once(child, 'close').then(([code]) => code as number | null);
    return { printed, exited, ctrlC: () => process.kill(-child.pid!, 'SIGINT') };
  }
  return { stack, exportLocal };
}

/** Starts an export, and stops it by Ctrl-C while the service holds its answer with page 2. */
async function interruptAtPage2({ stack, exportLocal }: Place, { expect }: TestContext) {
  letNextRunSpill(stack.simulator, 'tasks');
  const held = holdAnswer(stack.simulator, { resource: 'tasks', page: 2 });
  const first = exportLocal();
  await until(held.isThere, 'page 2 is read');
  first.ctrlC();
  expect(await first.exited).toBe(130);
  return { first, held };
}

// Side by side, because they wait for limits of time.
describe.concurrent('an interrupted export --local', () => {
  it('drains the worker, stops its server, and is resumed by the same command', async (context) => {
    const { expect } = context;
    const place = await startPlace(context);
    const { stack, exportLocal } = place;
    const { first, held } = await interruptAtPage2(place, context);
    expect(first.printed.stderr).toContain('The export is interrupted');
    expect(first.printed.stderr).not.toMatch(/unreachable|ECONNREFUSED/);
    expect(await temporalServers(stack.folder)).toEqual([]);
    held.release();
    const second = exportLocal();
    expect(await second.exited, second.printed.stderr).toBe(0);
    expect(JSON.parse(second.printed.stdout)).toMatchObject({ outcome: 'published', runs: [{ rows: 100 }] });
    const starts = stack.simulator.admin.stats().recent.filter(({ page }) => page === 0);
    expect(starts.map(({ path }) => path)).toHaveLength(1);
  });

  // test/unit/cli/interrupt.test.ts: what the first and the second Ctrl-C do.
  longOnly('is cancelled by a second Ctrl-C', async (context) => {
    const { expect } = context;
    const { stack, exportLocal } = await startPlace(context);
    const held = holdAnswer(stack.simulator, { resource: 'tasks', page: 2 });
    const command = exportLocal();
    await until(held.isThere, 'page 2 is read');
    command.ctrlC();
    await until(
      () => command.printed.stderr.includes('Press Ctrl-C again to cancel'),
      'the first one is noticed',
    );
    command.ctrlC();
    expect(await command.exited).toBe(1);
    expect(command.printed.stderr).toContain('The export was cancelled');
    expect(JSON.parse(command.printed.stdout)).toMatchObject({ outcome: 'cancelled' });
    expect(await temporalServers(stack.folder)).toEqual([]);
    held.release();
  });

  // The first test resumes an export after a pause; test/unit/cli/pauses.test.ts decides what a longer one means.
  longOnly(
    'is started again if it failed only because of a pause longer than giveUpAfter',
    async (context) => {
      const { expect } = context;
      const giveUpAfterMs = 20_000;
      const place = await startPlace(context, giveUpAfterMs);
      const { held } = await interruptAtPage2(place, context);
      held.release();
      const pausedAt = Date.now();
      await until(() => Date.now() - pausedAt > giveUpAfterMs, 'the pause is longer than giveUpAfter');
      const second = place.exportLocal();
      expect(await second.exited, second.printed.stderr).toBe(0);
      expect(second.printed.stderr).toMatch(/was paused for \d+s and failed only because this exceeds/);
      expect(JSON.parse(second.printed.stdout)).toMatchObject({
        outcome: 'published',
        runs: [{ rows: 100 }],
      });
    },
  );

  // The rule is in test/unit/cli/pauses.test.ts.
  longOnly('fails, and is not started again, if the service failed all the time', async (context) => {
    const { expect } = context;
    const { stack, exportLocal } = await startPlace(context, 3_000);
    stack.simulator.admin.faults.add({
      match: { resource: 'tasks' },
      fault: { kind: 'status', status: 503 },
    });
    const command = exportLocal();
    expect(await command.exited, command.printed.stderr).toBe(1);
    expect(command.printed.stderr).not.toContain('Starting it again');
    expect(JSON.parse(command.printed.stdout)).toMatchObject({ outcome: 'failed' });
  });
});

/** Process ids of dev servers with their state below a folder. */
async function temporalServers(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const args = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (args.includes('start-dev') && args.includes(folder)) found.push(pid);
  }
  return found;
}
