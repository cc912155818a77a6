import { createHash } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import type { RunId } from '../../../src/core/brands.js';
import { readChain } from '../../../src/lake/published/chain.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { idOf } from '../../support/mirrored.js';
import { expectedCells, isSameCell } from '../../support/oracle.js';
import { type Random, seededRandom } from '../../support/random.js';
import { seeds } from '../../support/seeds.js';
import { type ReadTree, readPointer, readSnapshot, readTree } from '../../support/snapshot.js';

const DAY = 86_400_000;
const META = ['_run_id', '_synced_at', '_deleted_at'];
/** Fields with line breaks or formulas, which are escaped in several ways. */
const ESCAPED = ['notes', 'description'];

type Cell = string | null;
type Row = ReadTree['rows'][number];
type Rows = ReadonlyMap<string, Row>;

interface Setting {
  readonly mask: Readonly<Record<string, 'hash' | 'redact'>>;
  readonly exclude: readonly string[];
  readonly connection: string;
}

const MASKS: readonly Setting['mask'][] = [
  {},
  { title: 'redact' },
  { title: 'hash' },
  { status: 'hash' },
  { title: 'hash', status: 'redact' },
];

function pickSetting(random: Random): Setting {
  return {
    mask: random.pick(MASKS),
    exclude: random.pick([[], ['status'], ['assigneeId']]),
    connection:
      `    deletes: ${random.pick(['mark', 'drop', 'keep'])}\n` +
      `    sync: { reconcileEvery: ${random.pick(['never', '7d', '1d'])}, overlap: 1m }\n` +
      `    csv: { partSize: ${random.pick(['2KiB', '8KiB', '64MiB'])}, compression: ${random.pick(['gzip', 'none'])}, ` +
      `lineBreaks: ${random.pick(['keep', 'escape'])}, escapeFormulas: ${random.pick([true, false])} }\n`,
  };
}

function yamlOf({ mask, exclude }: Setting): string {
  const excluded = exclude.length === 0 ? '' : `, exclude: ${JSON.stringify(exclude)}`;
  return `{ name: tasks, columns: { mask: ${JSON.stringify(mask)}${excluded} } }`;
}

const isMask = (cell: Cell): boolean => cell !== null && /^([0-9a-f]{64}|\[redacted\])$/.test(cell);

/** What the settings make of a clear cell. */
function shown(name: string, cell: Cell, { mask, exclude }: Setting): Cell {
  if (cell === null || exclude.includes(name)) return null;
  if (mask[name] === 'redact') return '[redacted]';
  return mask[name] === 'hash' ? createHash('sha256').update(cell).digest('hex') : cell;
}

const byId = (rows: readonly Row[]): Rows => new Map(rows.map((row) => [row.id!, row]));

interface World {
  readonly mirror: InProcessMirror;
  readonly random: Random;
  readonly seen: Map<RunId, Rows>;
  readonly log: string[];
  setting: Setting;
}

/** Everything is compared with what a reader saw of the target, or with the service's own values, under today's settings. */
describe('a rollback between changes of settings', () => {
  let mirror: InProcessMirror | undefined;
  afterEach(() => mirror?.close());

  it.each(seeds(2))(
    'shows the target as the settings of today say, and then the service, seed %i',
    async (seed) => {
      const random = seededRandom(seed);
      const setting = pickSetting(random);
      mirror = await InProcessMirror.start({
        simulator: { seed, awkward: false, counts: { tasks: 1 + random.below(60) } },
        resource: 'tasks',
        yaml: yamlOf(setting),
        connection: setting.connection,
      });
      const world: World = { mirror, random, seen: new Map(), log: [], setting };
      try {
        for (let at = 0; at < 5; at++) await night(world);
        for (let at = 0; at < 2; at++) await rollBack(world);
        const rolled = [...world.seen.values()].at(-1)!;
        const { rows, listed } = await night(world);
        for (const [id, row] of rolled)
          if (!listed.has(id)) expect(rows.get(id)!._deleted_at === null, id).toBe(row._deleted_at === null);
        await night(world);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        throw new Error(`${world.log.join('\n')}\n${message}`, { cause: error });
      }
    },
  );
});

async function maybeConfigure(world: World): Promise<void> {
  if (world.random.below(3) > 0) return;
  world.setting = pickSetting(world.random);
  world.log.push(`settings ${JSON.stringify(world.setting)}`);
  await world.mirror.configure(yamlOf(world.setting), world.setting.connection);
}

async function night(world: World): Promise<{ rows: Rows; listed: ReadonlyMap<string, string> }> {
  const { mirror, random, seen, log } = world;
  const { admin } = mirror.simulator;
  mirror.clock += DAY;
  admin.advance(DAY);
  for (let at = random.below(8); at > 0; at--) {
    const ids = admin.records('tasks').map(idOf);
    const what = random.pick(['create', 'update', 'update', 'remove'] as const);
    if (what === 'create') admin.create('tasks', { title: `new ${random.below(100)}` });
    else if (ids.length === 0) continue;
    else if (what === 'update') admin.update('tasks', random.pick(ids), { title: `v${random.below(1000)}` });
    else admin.remove('tasks', [random.pick(ids)]);
  }
  await maybeConfigure(world);
  if (random.below(5) === 0) await mirror.abandon();
  const reconcile = random.below(4) === 0;
  const run = await mirror.run(reconcile ? { reconcile, allowDeletes: true } : {});
  log.push(`run ${run.runId}${reconcile ? ' reconcile' : ''} ${JSON.stringify(run.counts)} ${run.warnings}`);
  const rows = await readChecked(world);
  const listed = new Map(admin.records('tasks', 'listed').map((text) => [idOf(text), text]));
  for (const [id, text] of listed) {
    const row = rows.get(id)!;
    expect(row._deleted_at, id).toBeNull();
    for (const [name, cell] of expectedCells(text)) {
      const found = row[name] ?? null;
      const wanted = shown(name, cell, world.setting);
      if (!ESCAPED.includes(name) && !isSameCell(found, wanted)) expect(found, `${id}: ${name}`).toBe(wanted);
    }
  }
  seen.set(run.runId, rows);
  return { rows, listed };
}

async function rollBack(world: World): Promise<void> {
  const { mirror, random, seen, log } = world;
  await maybeConfigure(world);
  const to = random.pick([...seen.keys()]);
  mirror.clock += 60_000;
  const { runId, counts, warnings } = await mirror.rollBack(to);
  log.push(`rollback ${runId} to ${to} ${JSON.stringify(counts)} ${warnings}`);
  // It has not read the service.
  for (const warning of warnings) expect(warning).not.toMatch(/read again|restored;/);
  const rows = await readChecked(world);
  const target = seen.get(to)!;
  for (const [id, row] of target) {
    const found = rows.get(id)!;
    expect(found._deleted_at === null, id).toBe(row._deleted_at === null);
    for (const [name, cell] of Object.entries(row)) {
      if (META.includes(name) || ESCAPED.includes(name)) continue;
      const now = found[name] ?? null;
      // No one can say what a mask has hidden.
      if (isMask(cell)) expect(now === null || isMask(now), `${id}: ${name}`).toBe(true);
      else if (now !== '[redacted]' || world.setting.mask[name] === undefined)
        expect(now, `${id}: ${name}`).toBe(shown(name, cell, world.setting));
    }
  }
  for (const [id, row] of rows) if (!target.has(id)) expect(row._deleted_at, id).not.toBeNull();
  seen.set(runId, rows);
}

/** The rows of the snapshot, which the change logs of the chain give as well. */
async function readChecked({ mirror }: World): Promise<Rows> {
  const pointer = await readPointer(mirror.store, 'tasks');
  const logs: ReadTree['rows'][] = [];
  for await (const { changes } of readChain(mirror.store, pointer))
    logs.unshift((await readTree(mirror.store, changes)).rows);
  const newest = byId(logs.flat());
  const rows = byId((await readSnapshot(mirror.store, 'tasks')).rows);
  expect([...rows.keys()].filter((id) => !newest.has(id))).toEqual([]);
  for (const [id, row] of newest) {
    const found = rows.get(id);
    if (found === undefined) expect(row._deleted_at, id).not.toBeNull();
    else {
      expect(found._run_id, id).toBe(row._run_id);
      for (const [name, cell] of Object.entries(row))
        if (cell !== null) expect(found[name], `${id}: ${name}`).toBe(cell);
    }
  }
  return rows;
}
