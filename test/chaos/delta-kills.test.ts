import { afterEach, describe, expect, inject, it } from 'vitest';
import { followPointer, type TableTask } from '../../src/table/index.js';
import { expectTable } from '../support/expect-table.js';
import { seededRandom } from '../support/random.js';
import { checkMirrored } from './support/mirrored.js';
import { exportAll } from './support/operations.js';
import { change } from './support/rounds.js';
import { checkCaughtUp, checkVersions, TABLE_MOMENTS, TableWatch } from './support/tables.js';
import { startWorld, type World } from './support/world.js';

const SEED = Number(process.env.WORKTRACK_SEED);
const ROUNDS = Number(process.env.WORKTRACK_ROUNDS ?? 20);
const GIVE_UP_MS = (5 + 2 * ROUNDS) * 60_000;
const MOMENT_WITHIN_MS = 120_000;
const DAY_MS = 24 * 60 * 60_000;
/** The share of rounds where a second writer follows the pointer at the same time. */
const RACE = 0.5;

describe(`a worker that is killed while a table follows the pointer (seed ${SEED}, ${ROUNDS} rounds)`, () => {
  let world: World;
  afterEach(() => world?.stop());

  it(
    'leaves no version that was not a published run, and the next run leaves none missing',
    async () => {
      const random = seededRandom(SEED);
      world = await startWorld(inject('servers'), {
        seed: SEED,
        counts: { tasks: 400, projects: 60 },
        yaml: '    sync: { pageSize: 100, overlap: 1s }\n    csv: { partSize: 16KiB }\n    tables: { format: delta }\n',
      });
      await exportAll(world);
      const task = (resource: string): TableTask => ({
        ...{ store: world.store, resource, types: {}, badValues: 'stop', retentionMs: 30 * DAY_MS },
        ...{ now: Date.now, signal: new AbortController().signal },
      });
      const hits: Record<string, number> = { behind: 0, races: 0, commitsOfRivals: 0 };
      for (let round = 1; round <= ROUNDS; round++) {
        const began = Date.now();
        await change(world, random);
        const resource = random.pick(world.resources);
        const moment = random.pick(TABLE_MOMENTS);
        const watch = new TableWatch(world.lakeFolder, resource);
        await watch.begin();
        const running = exportAll(world);
        running.catch(() => {});
        await until(() => watch.reached(moment));
        await pause(random.below(moment === 'the clean-up' ? 60 : 20));
        const rivals =
          random.share() < RACE ? [followPointer(task(resource)), followPointer(task(resource))] : [];
        await world.kill('worker', 'SIGKILL');
        const behind = await checkVersions(world, resource);
        if (behind > 0) hits.behind!++;
        hits[moment] = (hits[moment] ?? 0) + 1;
        await pause(random.below(500));
        await world.restart('worker');
        for (const { commits } of await Promise.all(rivals)) hits.commitsOfRivals! += commits;
        if (rivals.length > 0) hits.races!++;
        await running;
        for (const one of world.resources) await checkCaughtUp(world, one);
        await checkMirrored(world);
        console.log(
          `${round}: SIGKILL worker at ${moment} of ${resource}, ${behind} behind, ${rivals.length} rivals, ${Date.now() - began} ms`,
        );
      }
      for (const resource of world.resources)
        await expectTable({ ...world, servers: inject('servers') }, resource);
      console.log(`seed ${SEED}: ${ROUNDS} kills`, hits);
      expect(world.unexpectedExits).toEqual([]);
    },
    GIVE_UP_MS,
  );
});

/** Waits for a moment between swap and commit. It looks at the disk as often as it can, because the moment is short. */
async function until(reached: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + MOMENT_WITHIN_MS;
  while (!(await reached())) {
    if (Date.now() > end) throw new Error(`no run came this far within ${MOMENT_WITHIN_MS} ms`);
    await pause(1);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
