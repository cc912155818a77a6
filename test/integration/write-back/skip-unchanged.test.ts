import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../support/processes.js';
import type { Stack } from '../../support/stack.js';
import {
  fileIn,
  readReceipts,
  recordsOf,
  startWriteBackStack,
  stopWriteBackStack,
  writesSeen,
} from '../../support/write-back.js';

const START = '2026-11-20T08:00:00Z';
const HEADER = 'source,sourceKey,title,startsAt\n';
const RESOURCE = '{ name: calendar-entries, window: 36500d, windowField: startsAt }';

describe('the changes of upserts', () => {
  let stack: Stack;
  const write = (...args: string[]) =>
    runCommand(stack, [
      ...['write-back', 'calendar-entries', ...args],
      ...['--config', stack.configFile, '--task-queue', stack.taskQueue],
    ]);

  beforeAll(async () => {
    stack = await startWriteBackStack({ resources: `[${RESOURCE}]` });
    await stack.startWorker();
    const rows = [1, 2, 3].map((n) => `cal,${n},title ${n},${START}\n`).join('');
    const made = await write(await fileIn(stack, HEADER + rows));
    expect(made.code, made.stderr).toBe(0);
  });
  afterAll(() => stopWriteBackStack(stack));

  it('are shown before anything is sent, and rows that change nothing are left out', async () => {
    // A person has changed a record since the last read of the resource.
    const third = recordsOf(stack, 'calendar-entries').find(({ sourceKey }) => sourceKey === '3')!;
    stack.simulator.admin.update('calendar-entries', String(third.id), { title: 'by a person' });
    const before = writesSeen(stack);
    const text = `${HEADER}cal,1,title 1,${START}\ncal,2,another,${START}\ncal,3,title 3,${START}\ncal,4,new,${START}\n`;
    const file = await fileIn(stack, text);

    const shown = await write(file, '--dry-run', '--diff', '--skip-unchanged', '--json');
    expect(shown.code, shown.stderr).toBe(0);
    const lines = shown.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.slice(0, -1)).toMatchObject([
      {
        resource: 'calendar-entries',
        key: ['cal', '2'],
        column: 'title',
        before: 'title 2',
        after: 'another',
      },
      { key: ['cal', '3'], column: 'title', before: 'by a person', after: 'title 3' },
      { key: ['cal', '4'], column: 'title', before: null, after: 'new' },
      { key: ['cal', '4'], column: 'startsAt', before: null, after: START },
    ]);
    expect(lines.at(-1)).toMatchObject({
      ...{ rows: 4, toSend: 3, setAside: { skipped: 1 } },
      diff: { new: 1, changed: 2, unchanged: 1, unknown: 0, why: {} },
    });
    const asTable = await write(file, '--dry-run', '--diff', '--no-read-back', '--limit', '1');
    expect(asTable.stdout).toMatch(/cal, 2 +title +title 2 +another/);
    expect(asTable.stdout).toContain('changed: 2 rows');
    expect(asTable.stderr).toContain('more cells would change');
    expect(writesSeen(stack)).toBe(before);

    const written = await write(file, '--skip-unchanged', '--json');
    expect(written.code, written.stderr).toBe(0);
    const result = JSON.parse(written.stdout) as { batchId: string };
    expect(result).toMatchObject({ outcome: 'written', counts: { created: 1, updated: 2, skipped: 1 } });
    expect(writesSeen(stack)).toBe(before + 3);
    const [first] = await readReceipts(stack, result.batchId);
    expect(first).toMatchObject({
      outcome: 'skipped',
      message: expect.stringContaining('unchanged: the published'),
    });
  });

  it('cannot be found where each row changes something', async () => {
    const creates = await runCommand(stack, [
      ...['write-back', 'time-entries', await fileIn(stack, 'description\nx\n'), '--skip-unchanged'],
      ...['--config', stack.configFile],
    ]);
    expect([creates.code, creates.stderr]).toEqual([
      2,
      expect.stringContaining('each row changes something'),
    ]);
    const unread = await write(await fileIn(stack, HEADER), '--skip-unchanged', '--no-read-back');
    expect([unread.code, unread.stderr]).toEqual([2, expect.stringContaining('--no-read-back')]);
  });
});
