import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { folderOf, nameOf } from '../../../src/lake/documents/lake-layout.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { startPurge } from '../../../src/temporal/client/start.js';
import { idOf } from '../../support/mirrored.js';
import { readPointer } from '../../support/snapshot.js';
import { type Stack, startStack, until } from '../../support/stack.js';
import { startTimeSkipping } from '../../support/time-skipping-server.js';

const RESOURCE = 'tasks';

describe('a mirror that is idle after a purge', () => {
  let env: TestWorkflowEnvironment;
  let stack: Stack;
  beforeAll(async () => {
    env = await startTimeSkipping(inject('servers').testServer);
  });
  afterEach(() => stack?.stop());
  afterAll(() => env?.teardown());

  async function objects(): Promise<ObjectKey[]> {
    const keys: ObjectKey[] = [];
    for await (const { key } of stack.store.list('')) keys.push(key);
    return keys;
  }

  it('removes parts that late requests restore, although no run follows', async () => {
    stack = await startStack({
      simulator: { seed: 7, now: await env.currentTimeMs(), counts: { [RESOURCE]: 40 } },
      resources: `[${RESOURCE}]`,
      temporalAddress: env.address,
    });
    await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
    const { snapshot } = await readPointer(stack.store, RESOURCE);
    const before = await objects();
    const part = before.find((key) => key.startsWith(folderOf(snapshot)) && nameOf(key).startsWith('part-'))!;
    const body = await stack.store.read(part);

    const { connection, taskQueue, temporal, simulator } = stack;
    const id = idOf(simulator.admin.records(RESOURCE)[0]!);
    simulator.admin.remove(RESOURCE, [id]);
    const purge = await startPurge(temporal, { connection, resource: RESOURCE, key: [id] }, { taskQueue });
    await temporal.client.workflow.getHandle(purge).result();
    const purged = await objects();
    expect(purged).not.toContain(part);
    // Hashes of the key, for the sweep.
    const notes = purged.filter((key) => key.endsWith('/purged.json'));
    expect(notes).toHaveLength(1);

    // The PUT of an attempt of the export, and of a run that failed before the purge, and its staged rows.
    const run = 'run=20260101T000000Z-00000001';
    const late = [
      part,
      `${RESOURCE}/changes/dt=2026-01-01/${run}/part-00000-aaaaaaaa.csv.gz`,
      `_staging/${RESOURCE}/20260101T000000Z-00000001/chunk-0-1-0.csv`,
    ] as ObjectKey[];
    for (const key of late) await stack.store.write(key, body);
    // A record that it has set aside.
    const aside = `_quarantine/${RESOURCE}/20260101T000000Z-00000001/not-unique-0-aaaaaaaa.csv` as ObjectKey;
    await stack.store.write(aside, Buffer.from(`id,name\n${id},late\n`));
    late.push(aside);
    await env.sleep('50 minutes');
    expect(await objects()).toEqual(expect.arrayContaining(late));
    await env.sleep('15 minutes');
    const isGone = (key: ObjectKey): boolean => !late.includes(key) && !notes.includes(key);
    await until(async () => (await objects()).every(isGone), 'the late objects are gone');
    expect(await objects()).toEqual(purged.filter((key) => !notes.includes(key)));
    expect((await verifySnapshot(stack.store, RESOURCE)).problems).toEqual([]);
    expect((await stack.export()).outcome).toBe('published');
  });
});
