import { afterEach, describe, expect, it } from 'vitest';
import { addLargeRecords, type FaultyStack, startFaultyStack } from '../../support/faulty-stack.js';
import { LESSER_STORES, type LesserStore } from '../../support/lesser-stores.js';
import { expectMirrored, idOf } from '../../support/mirrored.js';
import { runCommand } from '../../support/processes.js';

interface LakeCheck {
  readonly check: string;
  readonly state: string;
  readonly message: string;
}

// Parts of 9 MiB are the smallest that are uploaded in parts, as those of a large resource are.
const LARGE_PARTS = '    csv: { compression: none, partSize: 9MiB }\n';

let faulty: FaultyStack;
afterEach(() => faulty?.stop());

const run = ({ stack }: FaultyStack, ...args: string[]) =>
  runCommand(stack, [...args, '--config', stack.configFile, '--task-queue', stack.taskQueue]);

async function doctor(): Promise<LakeCheck[]> {
  const { stdout } = await run(faulty, 'doctor', '--json');
  const { checks } = JSON.parse(stdout) as { checks: LakeCheck[] };
  return checks.filter(({ check }) => check === 'lake');
}

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
  const purge = await run(faulty, 'purge', '--resource', 'tasks', '--key', task!);
  expect(purge.code, purge.stderr).toBe(purges ? 0 : 1);
  if (!purges) expect(purge.stderr).toMatch(/refused to remove \d+ objects? that can hold it/);
  const verified = await run(faulty, 'verify');
  expect(verified.code, verified.stdout + verified.stderr).toBe(0);
}

// The names are not shortened this way.
describe.each(LESSER_STORES.map((store) => [store.lacks, store] as const))(
  'a store that lacks %s',
  (_, store) => {
    it(store.works ? 'works' : 'is named by doctor before the first run', async () => {
      faulty = await startFaultyStack('', LARGE_PARTS);
      for (const rule of store.rules) faulty.s3.add(rule);
      const checks = await doctor();
      const problems = checks.filter(({ state }) => state === 'problem');
      const notes = checks.filter(({ state }) => state !== 'ok').map(({ message }) => message);
      if (store.doctor === null) expect(notes.filter((note) => !/clock/.test(note))).toEqual([]);
      else expect(notes.join('\n')).toMatch(store.doctor);
      expect(problems.length > 0, JSON.stringify(problems)).toBe(!store.works);
      if (store.works) await useLake(store);
    });
  },
);
