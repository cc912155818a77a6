import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorMessage } from '../../../src/core/errors.js';
import { OrganizationsService } from '../../support/organizations.js';
import { type Random, seededRandom } from '../../support/random.js';
import { seeds } from '../../support/seeds.js';
import { readSnapshot } from '../../support/snapshot.js';
import { KEY_OF, TwoWorkers } from '../../support/two-workers.js';

const SEEDS = seeds(4);
const KEYS = new Map([
  ...['a1', 'a2', 'a3'].map((key) => [key, 'A'] as const),
  ...['b1', 'b2', 'b3'].map((key) => [key, 'B'] as const),
]);
type Owner = 'A' | 'B';
const KEYS_OF = { A: ['a1', 'a2', 'a3'], B: ['b1', 'b2', 'b3'] } as const;
const RUNS = 6;

interface World {
  readonly random: Random;
  readonly service: OrganizationsService;
  readonly mirror: TwoWorkers;
  /** The organization of the lake; `null`: nothing is published. */
  owner: Owner | null;
  /** The organization whose keys the current run meets, if it meets no other. */
  current: Owner;
  /** Whether the current run may meet a key of the other organization. */
  hostile: boolean;
  readonly log: string[];
}

describe(`API keys that change at random (the last seed is ${SEEDS.at(-1)})`, () => {
  it.each(['tasks only', 'with projects'])(
    'never mix two organizations, and a rotated key costs no page: %s',
    async (which) => {
      const totals = { rounds: SEEDS.length, published: 0, refused: 0, changes: 0, resumed: 0 };
      for (const seed of SEEDS) await playRound(seed, which === 'with projects', totals);
      console.log(JSON.stringify({ which, ...totals }));
      expect(totals.published).toBeGreaterThan(0);
    },
  );
});

async function playRound(seed: number, withProjects: boolean, totals: Record<string, number>): Promise<void> {
  const random = seededRandom(seed);
  const rows = { A: 12 + random.below(160), B: 12 + random.below(200) };
  const service = await OrganizationsService.start(KEYS, { rows, pageSize: random.pick([5, 20, 50]) });
  const resources = withProjects ? 'projects, { name: tasks }' : '{ name: tasks }';
  for (const env of KEY_OF) process.env[env] = 'a1';
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-workers-'));
  const at = { random, folder };
  const mirror = await TwoWorkers.start(service.url, resources, 'tasks', at);
  const world: World = { random, service, mirror, owner: null, current: 'A', hostile: false, log: [] };
  if (withProjects) {
    const projects = await TwoWorkers.start(service.url, resources, 'projects', at);
    await projects.run();
    world.owner = 'A';
  }
  service.onRequest = () => change(world, totals);
  try {
    for (let run = 0; run < RUNS; run++) await playRun(world, totals);
  } catch (error) {
    throw new Error(`seed ${seed}: ${errorMessage(error)}\n${world.log.join('\n')}`, { cause: error });
  } finally {
    await service.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Before a request is answered: keys are replaced, or the workers begin to stop. */
function change({ random, hostile, current, mirror, log }: World, totals: Record<string, number>): void {
  if (random.share() < 0.15) {
    const key = random.pick(hostile ? [...KEYS.keys()] : KEYS_OF[current]);
    process.env[random.pick(KEY_OF)] = key;
    totals.changes!++;
    log.push(`  key ${key}`);
  }
  if (random.share() < 0.15) mirror.drain();
}

async function playRun(world: World, totals: Record<string, number>): Promise<void> {
  const { random, service, mirror, log } = world;
  service.now += 3_600_000;
  mirror.clock = Math.max(mirror.clock, service.now);
  for (const organization of ['A', 'B'])
    for (let n = random.below(4); n > 0; n--)
      service.write(organization, String(1 + random.below(service.records(organization).size + 1)));
  world.hostile = random.share() < 0.5;
  world.current = world.owner ?? random.pick(['A', 'B'] as const);
  if (!world.hostile) for (const env of KEY_OF) process.env[env] = random.pick(KEYS_OF[world.current]);
  const from = service.seen.length;
  // Pages of the other organization may be left by a first run.
  const mayDrop = world.owner === null;
  const what = random.pick(['run', 'run', 'full', 'reconcile', 'abandon'] as const);
  log.push(`${what}${world.hostile ? ', hostile' : ''}`);
  try {
    if (what === 'abandon') await mirror.abandon();
    else {
      const { warnings } = await mirror.run({
        full: what === 'full',
        reconcile: what === 'reconcile',
        inMemory: random.share() < 0.5,
      });
      totals.published!++;
      log.push(`  published ${warnings.join('; ')}`);
      if (!world.hostile && !mayDrop) expect(warnings.join()).not.toContain('organization');
    }
  } catch (error) {
    log.push(`  ${errorMessage(error)}`);
    totals.refused!++;
    if (!world.hostile) throw error;
    expect(errorMessage(error)).toMatch(/not shown that it belongs to the organization/);
  }
  totals.resumed = mirror.resumed + (totals.resumed ?? 0);
  const read = service.seen.slice(from);
  if (!world.hostile)
    expect(new Set(read.map(({ organization }) => organization))).toEqual(new Set([world.current]));
  await expectOneOrganization(world);
}

/** Every row is of one organization: that of the first published run. */
async function expectOneOrganization(world: World): Promise<void> {
  const { mirror, service } = world;
  if (mirror.published === null) return;
  const { rows } = await readSnapshot(mirror.store, 'tasks');
  world.owner ??= rows[0]!.title!.slice(0, 1) as Owner;
  for (const row of rows) expect(row.title).toMatch(new RegExp(`^${world.owner} ${row.id} `));
  expect(rows).toHaveLength(rows.filter(({ id }) => service.records(world.owner!).has(id!)).length);
}
