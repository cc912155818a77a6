import { afterEach, describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { readChain } from '../../../src/lake/published/chain.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { idOf } from '../../support/mirrored.js';
import { assertRowEquals } from '../../support/oracle.js';
import { type Random, seededRandom } from '../../support/random.js';
import { seeds } from '../../support/seeds.js';
import { type ReadTree, readPointer, readSnapshot, readTree } from '../../support/snapshot.js';

const DAY = 86_400_000;
const POLICIES = ['mark', 'drop', 'keep'] as const;

type Row = ReadTree['rows'][number];
/** Values without metadata, and whether the row is a tombstone. */
const stateOf = ({ _run_id, _synced_at, _deleted_at, ...values }: Row): string =>
  JSON.stringify([_deleted_at !== null, Object.entries(values).filter(([, value]) => value !== null)]);
const byId = (rows: readonly Row[]) => new Map(rows.map((row) => [row.id!, row]));

interface World {
  readonly mirror: InProcessMirror;
  readonly random: Random;
  readonly policy: (typeof POLICIES)[number];
  readonly reconcileEvery: string;
  /** Rows of each published snapshot, as a reader saw them then. */
  readonly seen: Map<RunId, ReadonlyMap<string, Row>>;
  readonly log: string[];
}

/**
 * Random runs and rollbacks. Everything is compared with what a reader saw of an earlier snapshot, or with the service's own
 * values.
 */
describe('a rollback to a random run', () => {
  let mirror: InProcessMirror | undefined;
  afterEach(() => mirror?.close());

  it.each(seeds(2))('equals the target, and two nights later the service, seed %i', async (seed) => {
    const random = seededRandom(seed);
    const policy = random.pick(POLICIES);
    const reconcileEvery = random.pick(['never', '7d', '1d']);
    const partSize = random.pick(['2KiB', '8KiB', '64MiB']);
    mirror = await InProcessMirror.start({
      simulator: { seed, awkward: random.pick([true, false]), counts: { tasks: 1 + random.below(120) } },
      resource: 'tasks',
      yaml: random.pick(['tasks', '{ name: tasks, updatedAt: updatedAt }']),
      connection:
        `    deletes: ${policy}\n    sync: { reconcileEvery: ${reconcileEvery}, overlap: 1m }\n` +
        `    csv: { partSize: ${partSize}, compression: ${random.pick(['gzip', 'none'])} }\n`,
    });
    const world: World = { mirror, random, policy, reconcileEvery, seen: new Map(), log: [] };
    try {
      await night(world);
      for (let step = 0; step < 9; step++) await night(world);
      const to = random.pick([...world.seen.keys()]);
      await rollBack(world, to);
      if (random.below(3) === 0) await rollBack(world, random.pick([...world.seen.keys()]));
      change(world, random.below(4));
      await twoNights(world);
      await night(world);
    } catch (error) {
      throw new Error(`${world.log.join('\n')}\n${error instanceof Error ? error.message : error}`, {
        cause: error,
      });
    }
  });
});

function change({ mirror, random, log }: World, times: number): void {
  const { admin } = mirror.simulator;
  for (let at = 0; at < times; at++) {
    const ids = admin.records('tasks').map(idOf);
    const what = random.pick(['create', 'update', 'update', 'remove', 'field'] as const);
    if (what === 'create') admin.create('tasks', { title: `new ${random.below(100)}` });
    else if (ids.length === 0) continue;
    else if (what === 'update') admin.update('tasks', random.pick(ids), { title: `v${random.below(1000)}` });
    else if (what === 'remove') admin.remove('tasks', [random.pick(ids)]);
    else admin.addField('tasks', `field${random.below(4)}`, '"x"', { count: 2, pick: 'newest' });
    log.push(what);
  }
}

async function night(world: World): Promise<void> {
  const { mirror, random, seen, log } = world;
  mirror.clock += DAY;
  mirror.simulator.admin.advance(DAY);
  change(world, random.below(13));
  const reconcile = random.below(4) === 0;
  const { runId, counts } = await mirror.run(reconcile ? { reconcile, allowDeletes: true } : {});
  log.push(`run ${runId}${reconcile ? ' reconcile' : ''} ${JSON.stringify(counts)}`);
  seen.set(runId, byId((await readSnapshot(mirror.store, 'tasks')).rows));
  await expectChain(world);
}

async function rollBack(world: World, to: RunId): Promise<void> {
  const { mirror, policy, seen, log } = world;
  const head = byId((await readSnapshot(mirror.store, 'tasks')).rows);
  const { header } = await readSnapshot(mirror.store, 'tasks');
  mirror.clock += 60_000;
  const before = (await readPointer(mirror.store, 'tasks')).runId;
  const { runId } = await mirror.rollBack(to);
  log.push(`rollback ${runId} to ${to}`);
  const pointer = await readPointer(mirror.store, 'tasks');
  expect(pointer.rolledBack).toMatchObject({ runId, to, from: before });
  const after = await readSnapshot(mirror.store, 'tasks');
  expect(after.header).toEqual(header);
  const target = seen.get(to)!;
  const rows = byId(after.rows);
  for (const [id, row] of target) expect(stateOf(rows.get(id)!), id).toBe(stateOf(row));
  for (const [id, row] of rows) {
    const was = head.get(id);
    if (!target.has(id)) expect(row._deleted_at, id).not.toBeNull();
    // A row that did not change keeps its run; all others belong to the rollback.
    if (was !== undefined && stateOf(was) === stateOf(row)) expect(row, id).toEqual(was);
    else expect(row._run_id, id).toBe(runId);
  }
  const gone = [...head].filter(([id]) => !rows.has(id));
  if (policy !== 'drop') expect(gone).toEqual([]);
  for (const [id] of gone) expect(target.has(id), id).toBe(false);
  const changed = await readTree(mirror.store, pointer.changes!);
  const expected = [...rows.values()].filter(({ _run_id }) => _run_id === runId).map(({ id }) => id);
  expect(changed.rows.map(({ id }) => id).sort()).toEqual([...expected, ...gone.map(([id]) => id)].sort());
  seen.set(runId, rows);
  await expectChain(world);
}

/** After a rollback and two runs, what the service lists is as it lists it, and all else as in the target. */
async function twoNights({ mirror, log, seen, reconcileEvery }: World): Promise<void> {
  const { admin } = mirror.simulator;
  const { rolledBack } = await readPointer(mirror.store, 'tasks');
  const rolled = seen.get(rolledBack!.runId)!;
  const changed = new Set<string>();
  for (const { changes } of rolledBack!.rollbacks)
    for (const { id } of (await readTree(mirror.store, changes)).rows) changed.add(id!);
  for (const at of [0, 1]) {
    mirror.clock += DAY;
    admin.advance(DAY);
    const run = await mirror.run(at === 0 ? {} : { inMemory: true });
    log.push(`run ${run.runId} ${JSON.stringify(run.counts)} ${run.warnings.join('; ')}`);
    const listed = new Map(admin.records('tasks', 'listed').map((text) => [idOf(text), text]));
    const { rows } = await readSnapshot(mirror.store, 'tasks');
    const found = byId(rows);
    for (const [id, text] of listed) {
      expect(found.get(id)?._deleted_at, id).toBeNull();
      assertRowEquals(found.get(id)!, text);
    }
    // The second run may mark what is not listed as deleted.
    const mayConclude = at > 0 && reconcileEvery === '1d';
    for (const [id, row] of rolled)
      if (!listed.has(id) && !mayConclude) expect(stateOf(found.get(id)!), id).toBe(stateOf(row));
    expect((await readPointer(mirror.store, 'tasks')).rolledBack).toBeNull();
    if (at > 0) continue;
    const left = [...changed].filter((id) => !listed.has(id)).length;
    const warning = run.warnings.find((text) => text.startsWith('rollback: '));
    if (left === 0) expect(warning).toBeUndefined();
    else expect(warning).toMatch(new RegExp(`^rollback: ${left} record`));
    seen.set(run.runId, found);
  }
}

/** The change logs of the chain, in its order, give the snapshot. */
async function expectChain({ mirror, policy }: World): Promise<void> {
  const pointer = await readPointer(mirror.store, 'tasks');
  const logs: ReadTree['rows'][] = [];
  for await (const { changes } of readChain(mirror.store, pointer))
    logs.unshift((await readTree(mirror.store, changes)).rows);
  const newest = new Map<string, Row>();
  for (const row of logs.flat()) newest.set(row.id!, row);
  const rows = byId((await readSnapshot(mirror.store, 'tasks')).rows);
  for (const [id, row] of newest) {
    const there = rows.get(id);
    if (there === undefined) expect([policy, row._deleted_at !== null], id).toEqual(['drop', true]);
    else {
      expect(there._run_id, id).toBe(row._run_id);
      expect(stateOf(there), id).toBe(stateOf(row));
    }
  }
  expect([...rows.keys()].filter((id) => !newest.has(id))).toEqual([]);
}
