import { afterEach, describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { readChain } from '../../../src/lake/published/chain.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { idOf } from '../../support/mirrored.js';
import { type Random, seededRandom } from '../../support/random.js';
import { seeds } from '../../support/seeds.js';
import { type ReadTree, readPointer, readSnapshot, readTree } from '../../support/snapshot.js';
import { readTableRows } from '../../support/table-rows.js';

const DAY = 86_400_000;

type Row = ReadTree['rows'][number];

interface World {
  readonly mirror: InProcessMirror;
  readonly random: Random;
  readonly seen: Map<RunId, Map<string, Row>>;
  readonly purged: Set<string>;
  readonly log: string[];
  titles: number;
}

const byId = (rows: readonly Row[]) => new Map(rows.map((row) => [row.id!, row]));
const stateOf = ({ title, _deleted_at }: Row) => [title, _deleted_at === null];

/** A unique field is checked, so a row that was counted twice would stop the next run. */
describe('rollbacks and purges', () => {
  let mirror: InProcessMirror | undefined;
  afterEach(() => mirror?.close());

  it.each(seeds(2))(
    'keep snapshot, change logs and table equal, and bring back no purged record, seed %i',
    async (seed) => {
      const random = seededRandom(seed);
      mirror = await InProcessMirror.start({
        simulator: { seed, awkward: false, counts: { tasks: 40 } },
        resource: 'tasks',
        yaml: '{ name: tasks, checks: [{ unique: title, onFail: stop }] }',
        connection:
          `    deletes: ${random.pick(['mark', 'drop', 'keep'])}\n    sync: { overlap: 1m }\n` +
          `    csv: { partSize: ${random.pick(['2KiB', '4KiB'])} }\n    tables: { format: delta }\n`,
      });
      const world: World = { mirror, random, seen: new Map(), purged: new Set(), log: [], titles: 0 };
      const { admin } = mirror.simulator;
      for (const id of admin.records('tasks').map(idOf))
        admin.update('tasks', id, { title: nextTitle(world) });
      try {
        for (let at = 0; at < 3; at++) {
          await night(world);
          await maybePurge(world);
        }
        for (let at = 0; at < 2; at++) {
          await rollBack(world);
          await maybePurge(world);
        }
        for (let at = 0; at < 2; at++) await night(world);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        throw new Error(`${world.log.join('\n')}\n${message}`, { cause: error });
      }
    },
  );
});

const nextTitle = (world: World): string => `title ${world.titles++}`;

async function night(world: World): Promise<void> {
  const { mirror, random, seen, log } = world;
  const { admin } = mirror.simulator;
  mirror.clock += DAY;
  admin.advance(DAY);
  for (let at = random.below(8); at > 0; at--) {
    const id = random.pick(admin.records('tasks').map(idOf));
    const what = random.pick(['create', 'update', 'remove'] as const);
    if (what === 'create') admin.create('tasks', { title: nextTitle(world) });
    else if (what === 'update') admin.update('tasks', id, { title: nextTitle(world) });
    else admin.remove('tasks', [id]);
  }
  const { runId, counts } = await mirror.run(
    random.below(3) === 0 ? { reconcile: true, allowDeletes: true } : {},
  );
  log.push(`run ${runId} ${JSON.stringify(counts)}`);
  const rows = await readChecked(world);
  for (const text of admin.records('tasks', 'listed'))
    expect(stateOf(rows.get(idOf(text))!)).toEqual([(JSON.parse(text) as { title: string }).title, true]);
  seen.set(runId, rows);
}

async function rollBack(world: World): Promise<void> {
  const { mirror, random, seen, log } = world;
  const to = random.pick([...seen.keys()]);
  mirror.clock += 60_000;
  const { runId, counts } = await mirror.rollBack(to);
  log.push(`rollback ${runId} to ${to} ${JSON.stringify(counts)}`);
  const rows = await readChecked(world);
  const target = seen.get(to)!;
  for (const [id, row] of target) expect(stateOf(rows.get(id)!), id).toEqual(stateOf(row));
  for (const [id, row] of rows) if (!target.has(id)) expect(row._deleted_at, id).not.toBeNull();
  seen.set(runId, rows);
}

async function maybePurge({ mirror, random, seen, purged, log }: World): Promise<void> {
  if (random.below(2) === 0) return;
  const { admin } = mirror.simulator;
  const id = random.pick((await readSnapshot(mirror.store, 'tasks')).rows.map((row) => row.id!));
  if (admin.records('tasks').map(idOf).includes(id)) admin.remove('tasks', [id]);
  await mirror.purge(id);
  log.push(`purge ${id}`);
  purged.add(id);
  for (const rows of seen.values()) rows.delete(id);
}

/** The rows of the snapshot, which the table and the change logs of the chain give as well. */
async function readChecked({ mirror, purged }: World): Promise<Map<string, Row>> {
  const { store } = mirror;
  const rows = byId((await readSnapshot(store, 'tasks')).rows);
  const logs: ReadTree['rows'][] = [];
  for await (const { changes } of readChain(store, await readPointer(store, 'tasks')))
    logs.unshift((await readTree(store, changes)).rows);
  const newest = byId(logs.flat());
  for (const [id, row] of newest) {
    if (rows.has(id)) expect(rows.get(id)!._run_id, id).toBe(row._run_id);
    else expect(row._deleted_at, id).not.toBeNull();
  }
  expect([...rows.keys()].filter((id) => !newest.has(id))).toEqual([]);
  expect([...purged].filter((id) => newest.has(id))).toEqual([]);
  const table = new Map((await readTableRows(store, 'tasks')).map((row) => [row.id as string, row]));
  expect([...table.keys()].sort()).toEqual([...rows.keys()].sort());
  for (const [id, row] of rows) {
    const { title, _deleted_at } = table.get(id)!;
    expect([title, (_deleted_at ?? null) === null], id).toEqual(stateOf(row));
  }
  return rows;
}
