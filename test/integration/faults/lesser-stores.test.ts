import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { checkLake } from '../../../src/doctor/check-lake.js';
import { verifyResource } from '../../../src/table/index.js';
import { startFaultyS3 } from '../../support/faulty-s3.js';
import { addLargeRecords, type FaultyStack, startFaultyStack } from '../../support/faulty-stack.js';
import { LESSER_STORES, type LesserStore } from '../../support/lesser-stores.js';
import { expectMirrored, idOf } from '../../support/mirrored.js';
import { runCommand } from '../../support/processes.js';
import { drawn, IS_LONG } from '../../support/seeds.js';
import { shortenBackOffs } from '../../support/short-waits.js';

// Parts of 9 MiB are the smallest that are uploaded in parts, as those of a large resource are.
const LARGE_PARTS = '    csv: { compression: none, partSize: 9MiB }\n';

shortenBackOffs();

let faulty: FaultyStack;

/** Longer than any step of `doctor` takes. */
const STEP_TIMEOUT_MS = 60_000;
const connection = () => faulty.stack.settings.connections[0]!;
const start = (): Promise<FaultyStack> => startFaultyStack('', LARGE_PARTS);

/** What runs do with a lake: a first export, also of a large resource, an increment that copies parts, and a purge. */
async function useLake({ purges = true }: LesserStore): Promise<void> {
  const { stack } = faulty;
  const { admin } = stack.simulator;
  await stack.startWorker();
  const first = await stack.export();
  expect(first.outcome, JSON.stringify(first.runs)).toBe('published');
  addLargeRecords(faulty);
  const large = await stack.export();
  expect(large.outcome, JSON.stringify(large.runs)).toBe('published');
  const [task] = admin.records('tasks').map(idOf);
  admin.update('tasks', task!, { name: 'changed' });
  const increment = await stack.export();
  expect(increment.outcome, JSON.stringify(increment.runs)).toBe('published');
  for (const resource of ['tasks', 'members']) await expectMirrored(stack, resource);
  const place = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
  const purge = await runCommand(stack, ['purge', '--resource', 'tasks', '--key', task!, ...place]);
  expect(purge.code, purge.stderr).toBe(purges ? 0 : 1);
  if (!purges) expect(purge.stderr).toMatch(/refused to remove \d+ objects? that can hold it/);
  for (const resource of ['tasks', 'members'])
    expect((await verifyResource(stack.store, connection(), resource)).problems).toEqual([]);
}

type Row = readonly [lacks: string, store: LesserStore];
const ROWS: readonly Row[] = LESSER_STORES.map((store) => [store.lacks, store]);

describe('doctor, before the first run', () => {
  beforeAll(async () => {
    faulty = await start();
  });
  afterAll(() => faulty?.stop());

  it.each(drawn(ROWS, 14))('judges a store that lacks %s', async (_, store) => {
    // What a store does not do is known for its address.
    const s3 = await startFaultyS3(faulty.access);
    onTestFinished(() => s3.close());
    for (const rule of store.rules) s3.add(rule);
    const { lake, ...more } = connection();
    const checks = await checkLake({ ...more, lake: { ...lake, endpoint: s3.url } }, STEP_TIMEOUT_MS);
    const problems = checks.filter(({ state }) => state === 'problem');
    const notes = checks.filter(({ state }) => state !== 'ok').map(({ message }) => message);
    if (store.doctor === null) expect(notes.filter((note) => !/clock/.test(note))).toEqual([]);
    else expect(notes.join('\n')).toMatch(store.doctor);
    expect(problems.length > 0, JSON.stringify(problems)).toBe(!store.works);
  });
});

// Stores that differ only in a status or in a place are not `runsInShort`. Doctor, above, probes them all.
describe('runs', () => {
  afterEach(() => faulty?.stop());

  it.each(
    drawn(
      ROWS.filter(([, { works, runsInShort }]) => works && (IS_LONG || runsInShort === true)),
      1,
    ),
  )('work with a store that lacks %s', async (_, store) => {
    faulty = await start();
    for (const rule of store.rules) faulty.s3.add(rule);
    await useLake(store);
  });
});
