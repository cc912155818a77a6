import { afterEach, describe, expect, it } from 'vitest';
import { checkLake } from '../../../src/doctor/check-lake.js';
import { verifyResource } from '../../../src/table/index.js';
import { addLargeRecords, type FaultyStack, startFaultyStack } from '../../support/faulty-stack.js';
import { LESSER_STORES, type LesserStore } from '../../support/lesser-stores.js';
import { expectMirrored, idOf } from '../../support/mirrored.js';
import { runCommand } from '../../support/processes.js';
import { longOnly } from '../../support/seeds.js';

// Parts of 9 MiB are the smallest that are uploaded in parts, as those of a large resource are.
const LARGE_PARTS = '    csv: { compression: none, partSize: 9MiB }\n';

let faulty: FaultyStack;
afterEach(() => faulty?.stop());

/** Longer than any step of `doctor` takes. */
const STEP_TIMEOUT_MS = 60_000;
const connection = () => faulty.stack.settings.connections[0]!;

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

async function startLesser({ rules }: LesserStore): Promise<void> {
  faulty = await startFaultyStack('', LARGE_PARTS);
  for (const rule of rules) faulty.s3.add(rule);
}

// The names are not shortened this way.
describe.each(LESSER_STORES.map((store) => [store.lacks, store] as const))(
  'a store that lacks %s',
  (_, store) => {
    it(store.works ? 'is judged by doctor' : 'is named by doctor before the first run', async () => {
      await startLesser(store);
      const checks = await checkLake(connection(), STEP_TIMEOUT_MS);
      const problems = checks.filter(({ state }) => state === 'problem');
      const notes = checks.filter(({ state }) => state !== 'ok').map(({ message }) => message);
      if (store.doctor === null) expect(notes.filter((note) => !/clock/.test(note))).toEqual([]);
      else expect(notes.join('\n')).toMatch(store.doctor);
      expect(problems.length > 0, JSON.stringify(problems)).toBe(!store.works);
    });

    // Of the stores that differ only in a status or in a place, one each runs in `npm test`. Doctor, above, probes them all.
    const runs = store.runsInShort === true ? it : longOnly;
    if (store.works) {
      runs('works', async () => {
        await startLesser(store);
        await useLake(store);
      });
    }
  },
);
