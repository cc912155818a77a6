import { afterEach, describe, expect, it } from 'vitest';
import { readSnapshot } from '../support/snapshot.js';
import { type Stack, startStack } from '../support/stack.js';

describe('records that break a promise', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  /** The list has no such field in any record. */
  const withoutKey = (badRecords: string) =>
    startStack({
      simulator: { awkward: false, counts: { tasks: 3 } },
      resources: `[{ name: tasks, key: externalId, badRecords: ${badRecords} }]`,
    });

  it('stop the run when they lack their key, and the message names the record and the remedy', async () => {
    stack = await withoutKey('stop');
    await stack.startWorker();
    const result = await stack.export();
    expect(result.runs[0]).toMatchObject({ outcome: 'failed', error: { type: 'BrokenPromise' } });
    expect(result.runs[0]!.error!.message).toMatch(
      /tasks: record 0 of page 0 .*"externalId".*badRecords: quarantine/,
    );
    expect(await stack.store.readIfExists('tasks/latest.json' as never)).toBeNull();
  });

  it('are set aside with a warning where the configuration says so, and none is lost', async () => {
    stack = await withoutKey('quarantine');
    stack.simulator.admin.addField('tasks', 'externalId', '"E-1"', { count: 1, pick: 'newest' });
    await stack.startWorker();
    const result = await stack.export();
    expect(result.runs[0]).toMatchObject({ outcome: 'published', rows: 1 });
    expect(result.runs[0]!.warnings.join()).toContain('2 records without a key set aside');
    expect((await readSnapshot(stack.store, 'tasks')).rows.map((row) => row.externalId)).toEqual(['E-1']);
    const kept: string[] = [];
    for await (const { key } of stack.store.list('_quarantine/tasks/')) {
      kept.push(...(await stack.store.read(key)).toString().trim().split('\n').slice(1));
    }
    expect(kept.length).toBe(2);
  });

  it('stop the run when their cursors go in a circle', async () => {
    stack = await startStack({
      simulator: { counts: { tasks: 50 } },
      resources: '[tasks]',
      yaml: '    sync: { pageSize: 5 }\n',
    });
    stack.simulator.admin.faults.add({
      match: { resource: 'tasks', cursor: 'with' },
      fault: { kind: 'cursor-loop', length: 2 },
    });
    await stack.startWorker();
    const result = await stack.export();
    expect(result.runs[0]!.error!.message).toContain('go in a circle');
    stack.simulator.admin.faults.clear();
    expect((await stack.export()).outcome).toBe('published');
  });

  it('stop a frozen contract before anything is published', async () => {
    stack = await startStack({
      simulator: { awkward: false, counts: { tasks: 5 } },
      resources: '[{ name: tasks, contract: freeze }]',
    });
    await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
    stack.simulator.admin.addField('tasks', 'surprise', '1', { count: 1, pick: 'newest' });
    const result = await stack.export();
    expect(result.runs[0]!.error!.message).toMatch(/frozen.*new column "surprise" \(integer\)/);
  });

  it('are reported when they bring a new column or another type', async () => {
    stack = await startStack({ simulator: { awkward: false, counts: { tasks: 5 } }, resources: '[tasks]' });
    await stack.startWorker();
    stack.simulator.admin.addField('tasks', 'size', '1', { count: 1, pick: 'newest' });
    await stack.export();
    stack.simulator.admin.addField('tasks', 'size', '"large"', { count: 1, pick: 'newest' });
    stack.simulator.admin.addField('tasks', 'colour', 'true', { count: 1, pick: 'newest' });
    const { warnings } = (await stack.export()).runs[0]!;
    expect(warnings).toContain('"size" was integer and is now also string');
    expect(warnings).toContain('new column "colour" (boolean)');
  });
});

describe('a service that is hard to read', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('is read to the end through resets, torn bodies, 429s, an expired cursor and a refused limit', async () => {
    stack = await startStack({
      simulator: { seed: 2, counts: { tasks: 400 }, tooLargeLimit: 'refuse', pageMax: 30 },
      resources: '[tasks]',
      yaml: '    sync: { pageSize: 100 }\n',
    });
    const { faults } = stack.simulator.admin;
    faults.add({ match: { resource: 'tasks', nth: 6 }, fault: { kind: 'reset' } });
    faults.add({ match: { resource: 'tasks', nth: 8 }, fault: { kind: 'reset-mid-body' } });
    faults.add({ match: { resource: 'tasks', nth: 10 }, fault: { kind: 'truncated-json' } });
    faults.add({ match: { resource: 'tasks', nth: 12 }, fault: { kind: 'html' } });
    faults.add({
      match: { resource: 'tasks', nth: 14 },
      fault: { kind: 'status', status: 429, retryAfter: 1 },
    });
    faults.add({ match: { resource: 'tasks', page: 9 }, remaining: 2, fault: { kind: 'cursor-expired' } });
    await stack.startWorker();
    const result = await stack.export();
    expect(result.outcome).toBe('published');
    expect(result.runs[0]!.rows).toBe(400);
    const { rows } = await readSnapshot(stack.store, 'tasks');
    expect(new Set(rows.map((row) => row.id)).size).toBe(400);
    // 100 was refused, then 50; 25 works.
    const limits = stack.simulator.admin.stats().recent.map(({ path }) => /limit=(\d+)/.exec(path)?.[1]);
    expect([...new Set(limits)]).toEqual(['100', '50', '25']);
  });
});
