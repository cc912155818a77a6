import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectMirrored } from '../../support/mirrored.js';
import { drawn } from '../../support/seeds.js';
import { FATAL, FAULT_PAGE, FAULT_ROWS, PASSING } from '../../support/service-faults.js';
import { quickRetries, shortenBackOffs } from '../../support/short-waits.js';
import { type Stack, startStack } from '../../support/stack.js';

shortenBackOffs();

/** @param yaml more keys of the connection */
function faultStack(yaml: string): Promise<Stack> {
  return startStack({
    // The service's own limit, so that a list that is read again in larger pages has as many.
    simulator: { seed: 9, counts: { tasks: FAULT_ROWS }, pageMax: FAULT_PAGE },
    resources: '[tasks]',
    yaml: `    sync: { pageSize: ${FAULT_PAGE}, reconcileEvery: never }\n${yaml}`,
  });
}

describe('transient faults of the service', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await faultStack('    http: { headersTimeout: 1s, bodyTimeout: 1s }\n');
    await stack.startWorker(undefined, quickRetries);
  });
  afterAll(() => stack?.stop());

  it.each(drawn(Object.entries(PASSING), 6))('%s: every record is published once', async (_, rules) => {
    const { faults } = stack.simulator.admin;
    faults.clear();
    const ids = rules.map((rule) => faults.add(rule));
    const result = await stack.export({ full: true });
    expect(result.outcome, JSON.stringify(result.runs)).toBe('published');
    for (const id of ids) expect(faults.hits(id)).toBeGreaterThan(0);
    await expectMirrored(stack, 'tasks');
  });
});

describe('permanent faults of the service', { shuffle: false }, () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await faultStack('');
    await stack.startWorker();
  });
  afterAll(() => stack?.stop());

  it.each(drawn(Object.entries(FATAL), 5))(
    '%s: the run ends with an error that says what failed and where',
    async (_, { rule, type, says }) => {
      const { faults } = stack.simulator.admin;
      faults.clear();
      faults.add(rule);
      const [run] = (await stack.export({ full: true })).runs;
      expect(run).toMatchObject({
        outcome: type === 'Refused' ? 'refused' : 'failed',
        runId: expect.stringMatching(/^\d{8}T\d{6}Z-[0-9a-f]{8}$/),
        snapshot: null,
        error: { type },
      });
      expect(run!.error!.message).toMatch(says);
      expect(await stack.store.readIfExists('tasks/latest.json' as never)).toBeNull();
    },
  );

  it('do not affect the next run', async () => {
    stack.simulator.admin.faults.clear();
    expect((await stack.export()).outcome).toBe('published');
    await expectMirrored(stack, 'tasks');
  });
});

describe('records with difficult values', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await faultStack('');
    await stack.startWorker();
  });
  afterAll(() => stack?.stop());

  it('are mirrored value for value', async () => {
    const { admin } = stack.simulator;
    const deep = `${'{"in":['.repeat(15)}1${']}'.repeat(15)}`;
    for (const fields of [
      `{"name":${JSON.stringify('x"\n,'.repeat(50_000))}}`,
      `{"name":"deep","deep":${deep}}`,
      '{"__proto__":"plain","constructor":1,"hasOwnProperty":true,"toString":null,"valueOf":{"a":1}}',
      '{"__proto__":{"polluted":true}}',
      '{"":"without a name","a,b":"comma","c\\"d":"quote","e\\nf":"line"}',
      '{"varies":1}',
      '{"varies":"one"}',
      '{"varies":[1]}',
      '{"varies":null}',
      '{"_run_id":"mine","_deleted_at":"never"}',
    ]) {
      admin.create('tasks', fields);
    }
    admin.addField('tasks', 'lastOnly', '12.50', { count: 1, pick: 'newest' });
    const result = await stack.export();
    expect(result.outcome, JSON.stringify(result.runs)).toBe('published');
    await expectMirrored(stack, 'tasks');
    expect('polluted' in {}).toBe(false);
  });
});
