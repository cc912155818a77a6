import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import { drawn } from '../../support/seeds.js';
import { quickRetries, shortenBackOffs } from '../../support/short-waits.js';
import { readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

shortenBackOffs();

describe('invalid records', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  /** No record of the list has this field. */
  const withoutKey = (badRecords: string) =>
    startStack({
      simulator: { awkward: false, counts: { tasks: 3 } },
      resources: `[{ name: tasks, key: externalId, badRecords: ${badRecords} }]`,
    });

  it('records without a key stop the run with a message that names the record and the remedy', async () => {
    stack = await withoutKey('stop');
    await stack.startWorker();
    const result = await stack.export();
    expect(result.runs[0]).toMatchObject({ outcome: 'failed', error: { type: 'BrokenPromise' } });
    expect(result.runs[0]!.error!.message).toMatch(
      /tasks: record 0 of page 0 .*"externalId".*badRecords: quarantine/,
    );
    expect(await stack.store.readIfExists('tasks/latest.json' as never)).toBeNull();
  });

  it('are quarantined with a warning if configured, and none is lost', async () => {
    stack = await withoutKey('quarantine');
    stack.simulator.admin.addField('tasks', 'externalId', '"E-1"', { count: 1, pick: 'newest' });
    await stack.startWorker();
    const result = await stack.export();
    expect(result.runs[0]).toMatchObject({ outcome: 'published', rows: 1 });
    expect(result.runs[0]!.warnings.join()).toContain('2 records without a key written to _quarantine');
    expect((await readSnapshot(stack.store, 'tasks')).rows.map((row) => row.externalId)).toEqual(['E-1']);
    const kept: string[] = [];
    for await (const { key } of stack.store.list('_quarantine/tasks/')) {
      kept.push(...(await stack.store.read(key)).toString().trim().split('\n').slice(1));
    }
    expect(kept.length).toBe(2);
  });

  it('stop the run if the cursors repeat', async () => {
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
    expect(result.runs[0]!.error!.message).toContain('returned the same nextCursor twice');
    stack.simulator.admin.faults.clear();
    expect((await stack.export()).outcome).toBe('published');
  });

  it('stop a run with a frozen contract before it publishes', async () => {
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

  it('are reported if they add a column or change a type', async () => {
    stack = await startStack({ simulator: { awkward: false, counts: { tasks: 5 } }, resources: '[tasks]' });
    await stack.startWorker();
    stack.simulator.admin.addField('tasks', 'size', '1', { count: 1, pick: 'newest' });
    await stack.export();
    stack.simulator.admin.addField('tasks', 'size', '"large"', { count: 1, pick: 'newest' });
    stack.simulator.admin.addField('tasks', 'colour', 'true', { count: 1, pick: 'newest' });
    const { warnings } = (await stack.export()).runs[0]!;
    expect(warnings).toContain('schema change: "size" was integer and is now also string');
    expect(warnings).toContain('schema change: new column "colour" (boolean)');
  });
});

describe('an unreliable service', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  it('is read completely despite resets, truncated bodies, 429s, an expired cursor and a rejected limit', async () => {
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
    // The service rejects 100 and 50, and accepts 25.
    const limits = stack.simulator.admin.stats().recent.map(({ path }) => /limit=(\d+)/.exec(path)?.[1]);
    expect([...new Set(limits)]).toEqual(['100', '50', '25']);
  });

  const INVALID = [
    [
      'a bare tab in a nested value',
      '{"note":["a\tb"]}',
      /a string contains an unescaped control character at byte \d+/,
    ],
    [
      'an unknown escape in a nested value',
      '{"note":{"a":"\\x41"}}',
      /unknown escape in a string at byte \d+/,
    ],
  ] as const;

  // `unit/json/json-test-suite` has all kinds.
  it.each(drawn(INVALID, 1))(
    'is requested again for a body with %s, and nothing of that body reaches the lake',
    async (_, fields, why) => {
      stack = await startStack({
        simulator: { awkward: false, counts: { tasks: 3 } },
        resources: '[tasks]',
        yaml: '    retries: { giveUpAfter: 8s }\n',
      });
      const record = `{"id":"T1",${fields.slice(1)}`;
      const body = `{"data":[${record}],"page":{"limit":1,"nextCursor":null}}`;
      const { faults } = stack.simulator.admin;
      faults.add({ match: { resource: 'tasks' }, fault: { kind: 'wrong-envelope', body } });
      await stack.startWorker(stack.settings, quickRetries);
      const failed = await stack.export();
      expect(failed.runs[0]).toMatchObject({ outcome: 'failed', error: { type: 'Transient' } });
      expect(failed.runs[0]!.error!.message).toMatch(/tasks: GET .* with (?:incomplete or )?invalid JSON/);
      expect(failed.runs[0]!.error!.message).toMatch(why);
      expect(await stack.store.readIfExists('tasks/latest.json' as never)).toBeNull();
      faults.clear();
      faults.add({ match: { resource: 'tasks' }, remaining: 1, fault: { kind: 'wrong-envelope', body } });
      expect((await stack.export()).runs[0]).toMatchObject({ outcome: 'published', rows: 3 });
      expect((await readSnapshot(stack.store, 'tasks')).rows.map((row) => row.id)).not.toContain('T1');
    },
  );

  it('ends the run if its records have more fields than the column limit, and the suggested remedy works', async () => {
    const resources = (csv: string) => `[{ name: tasks, csv: { nested: ${csv} } }]`;
    stack = await startStack({
      simulator: { awkward: false, counts: { tasks: 3 } },
      resources: resources('flatten'),
    });
    const wide = Array.from({ length: 10_001 }, (_, at) => `"k${at}":${at}`).join(',');
    stack.simulator.admin.addField('tasks', 'wide', `{${wide}}`, { count: 1, pick: 'newest' });
    const flattening = await stack.startWorker();
    const { runs } = await stack.export();
    expect(runs[0]).toMatchObject({ outcome: 'failed', error: { type: 'Configuration' } });
    expect(runs[0]!.error!.message).toMatch(/^tasks: .*10000 different fields.*`csv: \{ nested: json \}`/);
    await flattening.stop();
    const yaml = await readFile(stack.configFile, 'utf8');
    await stack.startWorker(parseSettings(yaml.replace('flatten', 'json'), stack.configFile));
    expect((await stack.export()).runs[0]).toMatchObject({ outcome: 'published', rows: 3 });
    const { rows } = await readSnapshot(stack.store, 'tasks');
    expect(rows.map((row) => row.wide)).toContain(`{${wide}}`);
  });
});
