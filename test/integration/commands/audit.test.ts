import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { AuditStatement } from '../../../src/lake/documents/audit-statement.js';
import { sha256Of } from '../../../src/lake/documents/checksums.js';
import { startAudit } from '../../../src/temporal/client/start.js';
import { followExport } from '../../../src/temporal/follow/follow-export.js';
import { historyText } from '../../support/history-text.js';
import { holdAnswer, letNextRunSpill } from '../../support/hold.js';
import { lakeContents } from '../../support/lake-contents.js';
import { mirrorStatus } from '../../support/mirror-requests.js';
import { idOf } from '../../support/mirrored.js';
import { runCommand } from '../../support/processes.js';
import { type Stack, startStack, until } from '../../support/stack.js';

const LONG_AGO = '2020-01-01T00:00:00.000Z';
const SECRET = 'a title that no history holds';

let stack: Stack;
const start = async (yaml = ''): Promise<void> => {
  stack = await startStack({
    s3: true,
    ...{ resources: '[projects, { name: tasks, fetchById: true }]', yaml },
    simulator: { awkward: false, counts: { tasks: 40, projects: 5 }, fetchById: 'all' },
  });
  await stack.startWorker();
  await stack.export();
};
const run = (command: string, ...args: string[]) =>
  runCommand(stack, [command, '--task-queue', stack.taskQueue, '--config', stack.configFile, ...args]);
const withoutAudits = async () =>
  Object.fromEntries(
    Object.entries(await lakeContents(stack.store)).filter(([key]) => !key.startsWith('_audits/')),
  );
const state = async () => {
  const { checkpoint, published, lastRun, pageSize } = await mirrorStatus(stack, 'tasks');
  return { checkpoint, published, lastRun, pageSize };
};
const spoil = (): void => {
  const { admin } = stack.simulator;
  const [id] = admin.records('tasks').map(idOf);
  admin.update('tasks', id!, { title: SECRET, updatedAt: LONG_AGO });
  admin.create('tasks', { title: 'missing', updatedAt: LONG_AGO });
};

describe('an audit of a lake that is equal', () => {
  beforeAll(() => start('    audit: { cron: "0 5 * * 0", sample: 1% }\n'));
  afterAll(() => stack?.stop());

  it('proves an equal lake with a statement, changes nothing else, and is in the status', async () => {
    const [lake, before] = [await withoutAudits(), await state()];
    const { code, stdout, stderr } = await run('audit');
    expect([code, stderr]).toEqual([0, expect.stringMatching(/Statement: .*_audits\/\d{8}T\d{6}Z\.json/)]);
    expect(stdout).toMatch(/^tasks +equal +40 rows +40 equal, \d+ cells$/m);
    expect([await withoutAudits(), await state()]).toEqual([lake, before]);
    const key = /_audits\/\S+/.exec(stderr)![0] as Parameters<typeof stack.store.read>[0];
    const statement = JSON.parse((await stack.store.read(key)).toString()) as AuditStatement;
    expect(statement).toMatchObject({ connection: stack.connection, outcome: 'equal', partial: false });
    for (const one of statement.resources) {
      if ('error' in one) throw new Error(one.error);
      expect(sha256Of(await stack.store.read(one.snapshot.key))).toBe(one.snapshot.sha256);
    }
    const page = (await stack.store.read(key.replace('.json', '.html') as typeof key)).toString();
    expect(page).toContain('no difference');
    expect((await run('status')).stdout).toMatch(/audited \d+ (?:s|min) ago: \d+ cells equal/);
    expect((await run('report')).stdout).toMatch(/audited \d+ (?:s|min) ago: \d+ cells equal/);
  });

  it('rejects shares and limits that are none', async () => {
    for (const args of [
      ['--sample', '0%'],
      ['--sample', '1'],
      ['--max-requests', '0'],
      ['--limit', '3'],
      ['--repair', '--no-wait'],
    ])
      expect((await run('audit', ...args)).code).toBe(2);
    const few = await run('audit', '--max-requests', '50');
    expect([few.code, few.stderr]).toEqual([2, expect.stringContaining('an audit needs at least 69')]);
  });

  it('gives way to an export, and begins again', async () => {
    const held = holdAnswer(stack.simulator, { resource: 'tasks' });
    const input = { connection: stack.connection, resources: ['tasks'] };
    const { taskQueue } = stack;
    const workflowId = await startAudit(stack.temporal, input, { taskQueue });
    await until(() => held.isThere(), 'the audit asks');
    const exported = await stack.export();
    held.release();
    expect(exported).toMatchObject({ outcome: 'published' });
    expect(await followExport(stack.temporal, workflowId)).toMatchObject({
      outcome: 'equal',
      runs: [{ audit: { equal: 40 } }],
    });
  });

  it('has a Schedule of its own, which schedule apply creates and removes', async () => {
    expect((await run('schedule', 'apply')).stdout).toContain('audits: created');
    const handle = stack.temporal.client.schedule.getHandle(`worktrack/${stack.connection}/audit`);
    const { action } = await handle.describe();
    expect(action.args).toEqual([{ connection: stack.connection, dryRun: { audit: { sample: 0.01 } } }]);
    await writeFile(
      stack.configFile,
      (await readFile(stack.configFile, 'utf8')).replace(/ +audit: .*\n/, ''),
    );
    expect((await run('schedule', 'apply')).stdout).toContain('audits: deleted');
    await run('schedule', 'delete');
  });
});

describe('an audit', () => {
  afterEach(() => stack?.stop());

  it.each(['in memory', 'in the lake'])(
    '%s finds differences and shows their cells, which are in no history',
    async (where) => {
      await start();
      spoil();
      if (where === 'in the lake') letNextRunSpill(stack.simulator, 'tasks');
      const { code, stdout } = await run('audit', '--diff', '--json');
      const lines = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(lines.filter(({ after }) => after === SECRET)).toHaveLength(1);
      expect([code, lines.at(-1)]).toMatchObject([
        1,
        {
          outcome: 'different',
          partial: false,
          resources: [
            { name: 'projects', equal: 5 },
            { name: 'tasks', rows: 40, equal: 39, different: 1, missing: 1, extra: 0 },
          ],
        },
      ]);
      const left: string[] = [];
      for await (const { key } of stack.store.list('_staging/')) left.push(key);
      expect(left).toEqual([]);
      for await (const { workflowId } of stack.workflows())
        expect(historyText(await stack.history(workflowId))).not.toContain(SECRET);
    },
  );

  it('requests a full read with --repair, which makes the lake equal', async () => {
    await start();
    spoil();
    const repaired = await run('audit', '--repair');
    expect([repaired.code, repaired.stderr]).toEqual([
      1,
      expect.stringMatching(/a full read has begun: (\S+)/),
    ]);
    const workflowId = /has begun: (\S+)/.exec(repaired.stderr)![1]!;
    expect(await followExport(stack.temporal, workflowId)).toMatchObject({ outcome: 'published' });
    expect((await run('audit', '--resource', 'tasks')).code).toBe(0);
  });
});
