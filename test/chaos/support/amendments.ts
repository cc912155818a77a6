import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunId } from '../../../src/core/brands.js';
import { readChain } from '../../../src/lake/published/chain.js';
import type { Random } from '../../support/random.js';
import { readPointer } from '../../support/snapshot.js';
import { MOMENTS, type Moment, RunWatch } from './moments.js';
import type { Operation } from './operations.js';
import { published, runToEnd } from './published.js';
import { recordsOf } from './records.js';
import type { World } from './world.js';

/** Largest number of runs that a rollback goes back. */
const RUNS_BACK = 3;

/** Rolls back to an earlier run. The next export restores the current records of the service. */
export const rollback: Operation = {
  name: 'rollback',
  moments: ['under way'],
  mirrorsAll: false,
  async prepare(world, random) {
    const resource = random.pick(readResources(world));
    const to = await earlierRun(world, resource, random);
    return {
      run: () => published(world, 'rollbackWorkflow', { resource, to }),
      reached: async () => true,
      async check() {
        const { rolledBack } = await readPointer(world.store, resource);
        if (rolledBack?.to !== to) throw new Error(`${resource}: latest.json is not of a rollback to ${to}`);
      },
    };
  },
};

/** Purges a record that the service no longer has. */
export const purge: Operation = {
  name: 'purge',
  moments: ['under way'],
  mirrorsAll: false,
  async prepare(world, random) {
    const resource = random.pick(['tasks', 'projects']);
    const records = await recordsOf(world, resource);
    const { id } = JSON.parse(random.pick(records)) as { id: string };
    await world.control('POST', `records/${resource}`, { delete: [id] });
    return {
      async run() {
        world.purging.add(resource);
        await published(world, 'purgeWorkflow', { resource, key: [id] });
        world.purging.delete(resource);
        world.purged.set(resource, (world.purged.get(resource) ?? 0) + 1);
      },
      reached: async () => true,
      async check() {
        for (const root of [resource, `_rolled-back/${resource}`, `_staging/${resource}`])
          await expectAbsent(join(world.lakeFolder, root), id);
      },
    };
  },
};

/**
 * Another installation adopts the lake while this one is running, and this one adopts it back. Afterwards the pointer
 * is ours, and neither has published a run on top of a snapshot that it has not read.
 */
export const takeOver: Operation = {
  name: 'take-over by another namespace',
  moments: MOMENTS,
  mirrorsAll: true,
  async prepare(world, random) {
    const watch = new RunWatch(world.lakeFolder, random.pick(world.resources));
    await watch.begin();
    return {
      async run() {
        const [theirs] = await Promise.all([
          runToEnd(world, 'exportWorkflow', { adopt: true }, world.rival),
          runToEnd(world, 'exportWorkflow', {}),
        ]);
        for (const { resource, outcome, error } of theirs.runs)
          if (outcome !== 'published' && error?.type !== 'Displaced')
            throw new Error(`${resource}: the other namespace ended as ${outcome}: ${error?.message}`);
        await published(world, 'exportWorkflow', { adopt: true });
      },
      reached: (moment) => watch.reached(moment as Moment),
      // Only the other namespace can displace a mirror that has adopted the lake again.
      check: () => published(world, 'exportWorkflow', {}),
    };
  },
};

function readResources({ resources }: World): readonly string[] {
  return resources.filter((name) => name === 'tasks' || name === 'projects');
}

async function earlierRun(world: World, resource: string, random: Random): Promise<RunId> {
  const runs: RunId[] = [];
  for await (const { runId } of readChain(world.store, await readPointer(world.store, resource))) {
    runs.push(runId);
    if (runs.length > RUNS_BACK) break;
  }
  return runs[Math.min(runs.length - 1, 1 + random.below(RUNS_BACK))]!;
}

/** @throws Error when a file below the folder holds the text */
async function expectAbsent(folder: string, text: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const body = await readFile(path).catch(() => Buffer.alloc(0));
    if (body.includes(text)) throw new Error(`${path} still holds ${text}`);
  }
}
