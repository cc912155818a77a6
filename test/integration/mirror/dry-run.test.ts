import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { ExportResult, RunReport } from '../../../src/core/contract/index.js';
import { startExport } from '../../../src/temporal/client/start.js';
import { historyText } from '../../support/history-text.js';
import { holdAnswer, letNextRunSpill } from '../../support/hold.js';
import { lakeContents } from '../../support/lake-contents.js';
import { mirrorStatus } from '../../support/mirror-requests.js';
import { idOf } from '../../support/mirrored.js';
import { runCommand } from '../../support/processes.js';
import { drawn, longOnly } from '../../support/seeds.js';
import { type Stack, startStack, until } from '../../support/stack.js';

const SECRET = 'a title that no history holds';

describe('export --dry-run', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());
  const start = async (yaml = ''): Promise<void> => {
    stack = await startStack({
      ...{ resources: '[tasks]', yaml },
      simulator: { awkward: false, counts: { tasks: 40 } },
    });
    await stack.startWorker();
  };
  const run = (...args: string[]) =>
    runCommand(stack, ['export', '--task-queue', stack.taskQueue, '--config', stack.configFile, ...args]);
  const json = ({ stdout }: { stdout: string }) => JSON.parse(stdout) as ExportResult;
  const other = async (edit: (text: string) => string): Promise<string> => {
    const file = join(stack.folder, 'new.yaml');
    await writeFile(file, edit(await readFile(stack.configFile, 'utf8')));
    return file;
  };
  const change = (): void => {
    const { admin } = stack.simulator;
    const ids = admin.records('tasks').map(idOf);
    admin.update('tasks', ids[0]!, { title: SECRET });
    admin.create('tasks', { title: 'new' });
    admin.remove('tasks', [ids[5]!]);
  };
  /** What a run would leave in the mirror. */
  const state = async () => {
    const { checkpoint, published, lastRun, pageSize } = await mirrorStatus(stack, 'tasks');
    return { checkpoint, published, lastRun, pageSize };
  };

  // `unit/mirror/dry-run-random` has both in each run of the tests.
  it.each(drawn(['in memory', 'in the lake'], 1))(
    '%s finds what the export then publishes, and leaves nothing',
    async (where) => {
      await start();
      expect((await run()).code).toBe(0);
      change();
      const [lake, before] = [await lakeContents(stack.store), await state()];
      if (where === 'in the lake') letNextRunSpill(stack.simulator, 'tasks');
      const dry = await run('--reconcile', '--dry-run', '--json');
      expect([dry.code, dry.stderr]).toEqual([0, expect.stringContaining(`/dry-run/`)]);
      const found = json(dry);
      expect(found.outcome).toBe('would-publish');
      const [report] = found.runs as [RunReport & { connection: string }];
      expect(report).toMatchObject({
        ...{
          connection: stack.connection,
          resource: 'tasks',
          outcome: 'would-publish',
          runId: null,
          snapshot: null,
        },
        ...{ rows: 41, counts: { inserted: 1, updated: 1, deleted: 1 }, error: null },
        dryRun: { columns: [], tableFiles: null, diff: null },
      });
      expect(report.dryRun!.requests).toBeGreaterThan(1);
      expect(await lakeContents(stack.store)).toEqual(lake);
      expect(await state()).toEqual(before);
      const real = json(await run('--reconcile', '--json'));
      expect(real.runs[0]).toMatchObject({
        counts: report.counts,
        warnings: report.warnings,
        rows: report.rows,
      });
    },
  );

  it('prints the cells that differ, which are in no history, and removes what held them', async () => {
    await start();
    expect((await run()).code).toBe(0);
    change();
    const lake = await lakeContents(stack.store);
    const shown = await run('--dry-run', '--diff');
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringMatching(/key +column +before +after/)]);
    expect(shown.stdout).toContain('a title that no h');
    expect(Math.max(...shown.stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80);
    const lines = (await run('--dry-run', '--diff', '--limit', '1', '--json')).stdout.trim().split('\n');
    const [cell, result] = lines.map((line) => JSON.parse(line) as object);
    expect(Object.keys(cell!)).toEqual(['connection', 'resource', 'key', 'column', 'before', 'after']);
    expect([lines.length, result]).toEqual([2, expect.objectContaining({ outcome: 'would-publish' })]);
    expect(await lakeContents(stack.store)).toEqual(lake);
    for await (const { workflowId } of stack.workflows())
      expect(historyText(await stack.history(workflowId))).not.toContain(SECRET);
  });

  it('keeps the diff that no command has read until a purge', async () => {
    await start();
    await stack.export();
    change();
    const { runs } = await stack.export({ dryRun: { cells: 5 } });
    const key = runs[0]!.dryRun!.diff!;
    expect(key).toMatch(/^_staging\/tasks\//);
    expect((await stack.store.read(key)).toString()).toContain('"column"');
    const id = idOf(stack.simulator.admin.records('tasks')[3]!);
    const purge = ['purge', '--resource', 'tasks', '--key', id, '--yes', '--task-queue', stack.taskQueue];
    const purged = await runCommand(stack, [...purge, '--config', stack.configFile]);
    expect([purged.code, await stack.store.head(key)]).toEqual([0, null]);
  });

  it('previews other settings that shape rows, and names any other difference', async () => {
    await start();
    expect((await run()).code).toBe(0);
    const lake = await lakeContents(stack.store);
    const masked = await other((text) =>
      text.replace('[tasks]', '[{ name: tasks, columns: { mask: { title: redact } } }]'),
    );
    const preview = json(await run('--dry-run', '--full', '--json', '--config', masked));
    expect(preview.runs[0]).toMatchObject({ outcome: 'would-publish', counts: { restated: 40, updated: 0 } });
    const strict = await other((text) =>
      text.replace('[tasks]', '[{ name: tasks, checks: [{ rows: { min: 99 } }] }]'),
    );
    const stopped = await run('--dry-run', '--json', '--config', strict);
    expect([stopped.code, json(stopped).runs[0]]).toMatchObject([
      1,
      { outcome: 'failed', runId: null, error: { type: 'Check' } },
    ]);
    const moved = await other((text) => text.replace(/baseUrl: .*/, 'baseUrl: http://127.0.0.1:9'));
    const refused = await run('--dry-run', '--config', moved);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining(`connections.${stack.connection}.baseUrl differs`),
    ]);
    expect(await lakeContents(stack.store)).toEqual(lake);
  });

  // `dry-run-random` previews random configurations, and `commands/local` has workers with that of the command.
  longOnly(
    'previews any difference with --local, whose worker has the configuration of the command',
    async () => {
      await start();
      expect((await run()).code).toBe(0);
      change();
      const lake = await lakeContents(stack.store);
      const kept = await other((text) => `${text}    retention: { snapshots: 31d }\n`);
      const refused = await run('--dry-run', '--config', kept);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--local')]);
      const local = ['export', '--local', '--dry-run', '--json', '--config', kept];
      const env = { XDG_STATE_HOME: join(stack.folder, 'state'), TEMPORAL_ADDRESS: '' };
      const found = json(await runCommand(stack, local, env));
      expect(found.runs[0]).toMatchObject({ outcome: 'would-publish', counts: { inserted: 1, updated: 1 } });
      expect(await lakeContents(stack.store)).toEqual(lake);
    },
  );

  it('gives way to a request that waits, and is merged with none', async () => {
    await start();
    await stack.export();
    change();
    const held = holdAnswer(stack.simulator, { resource: 'tasks' });
    const input = { connection: stack.connection, dryRun: {} };
    const { taskQueue } = stack;
    const workflowId = await startExport(stack.temporal, input, { taskQueue });
    await until(() => held.isThere(), 'the dry run asks');
    const other = stack.export({ dryRun: {} });
    const before = (await mirrorStatus(stack, 'tasks')).published!.runId;
    const exported = stack.export();
    const ended = await run('--follow', workflowId, '--json');
    held.release();
    expect([ended.code, json(ended).runs[0]]).toMatchObject([
      1,
      {
        outcome: 'failed',
        runId: null,
        error: { type: 'GaveWay', message: expect.stringContaining('gave way') },
      },
    ]);
    expect(await exported).toMatchObject({ outcome: 'published', runs: [{ counts: { updated: 1 } }] });
    // It waited until nothing else did, so that it finds nothing more.
    expect(await other).toMatchObject({ outcome: 'would-publish', runs: [{ counts: { updated: 0 } }] });
    const { published, lastRun } = await mirrorStatus(stack, 'tasks');
    expect([published!.runId === before, lastRun!.outcome]).toEqual([false, 'published']);
    const left: string[] = [];
    for await (const { key } of stack.store.list('_staging/')) left.push(key);
    expect(left).toEqual([]);
  });
});
