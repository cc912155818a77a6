import { ApplicationFailure } from '@temporalio/activity';
import { describe, expect, it } from 'vitest';
import type { RunError } from '../../../src/core/contract/index.js';
import { InProcessMirror, type RunOptions } from '../../support/in-process-mirror.js';
import { type Random, seededRandom } from '../../support/random.js';
import { seeds } from '../../support/seeds.js';

const DAY = 86_400_000;
const START = Date.parse('2026-11-21T02:00:00Z');
const ROWS = 120;

const CHECKS = `[
  { rows: { min: 50 } },
  { change: { max: 20%, over: 7, new: 40%, gone: 15% } },
  { notNull: [projectId, start] },
  { unique: [externalRef] },
  { oneOf: { status: [open, closed] } },
  { range: { durationSeconds: { min: 0, max: 86400 } } },
  { newest: { field: changedAt, maxAge: 3d }, onFail: stop } ]`;
/** For resources that are read in full each run. */
const OF_RUN = ', { rows: { min: 60 }, of: run } ]';

/** A run whose data have a defect: what the service lists, which run reads it, and the checks that must name it. */
interface Defect {
  /** Absent: an increment shows it, too. */
  readonly run?: RunOptions;
  readonly names: readonly string[];
  /** Days since the run before. Default: 1. */
  readonly days?: number;
  /** Puts the data right again; `null`: no run can publish the same lake any more. */
  readonly heal: (() => void) | null;
}

class World {
  now = START;
  #next = 0;
  readonly ids: string[] = [];

  constructor(
    readonly random: Random,
    readonly mirror: InProcessMirror,
  ) {}

  get admin() {
    return this.mirror.simulator.admin;
  }

  good(): Record<string, unknown> {
    const n = this.#next++;
    return {
      projectId: `p${n % 7}`,
      start: new Date(this.now - DAY).toISOString(),
      externalRef: `ref-${n}`,
      status: this.random.pick(['open', 'closed']),
      durationSeconds: this.random.below(86_401),
      changedAt: new Date(this.now - 3_600_000).toISOString(),
    };
  }

  add(count: number, change: (n: number) => Record<string, unknown> = () => ({})): string[] {
    const added = Array.from({ length: count }, (_, n) =>
      this.admin.create('tasks', { ...this.good(), ...change(n) }),
    );
    this.ids.push(...added);
    return added;
  }

  update(ids: readonly string[], fields: () => Record<string, unknown>): void {
    for (const id of ids) this.admin.update('tasks', id, fields());
  }

  /** Some records, each once. */
  some(count: number): string[] {
    const found = new Set<string>();
    while (found.size < count) found.add(this.random.pick(this.ids));
    return [...found];
  }

  night(days = 1): void {
    this.now += days * DAY;
    this.admin.setNow(this.now);
    this.mirror.clock = this.now;
  }
}

const FULL: RunOptions = { full: true };
/** Only a full read can show these. */
const NEEDS_FULL = /missing|deleted|empty/;

const DEFECTS: Readonly<Record<string, (world: World) => Defect>> = {
  'nulls in new rows': (world) => {
    const field = world.random.pick(['projectId', 'start']);
    const ids = world.add(1 + world.random.below(3), () => ({ [field]: null }));
    const heal = () => world.update(ids, () => world.good());
    return { names: [`notNull(${field})`], heal };
  },
  'nulls in old rows': (world) => {
    const ids = world.some(1 + world.random.below(20));
    for (const id of ids) world.admin.update('tasks', id, { projectId: null, start: null });
    const heal = () => world.update(ids, () => ({ projectId: 'p1', start: 'x' }));
    return { names: ['notNull(projectId)', 'notNull(start)'], heal };
  },
  'a value twice in new rows': (world) => {
    const ids = world.add(2, () => ({ externalRef: 'twin-value' }));
    return { names: ['unique(externalRef)'], heal: () => world.admin.update('tasks', ids[0]!, world.good()) };
  },
  'a new row with the value of an old one': (world) => {
    const [id] = world.add(1, () => ({ externalRef: `ref-${world.random.below(ROWS)}` }));
    return { names: ['unique(externalRef)'], heal: () => world.admin.update('tasks', id!, world.good()) };
  },
  'old rows that get the same value': (world) => {
    const ids = world.some(2);
    for (const id of ids) world.admin.update('tasks', id, { externalRef: 'twin-value' });
    const heal = () => world.update(ids, () => world.good());
    return { names: ['unique(externalRef)'], heal };
  },
  'numbers out of range': (world) => {
    const wrong = world.random.pick([-1, -0.001, 86_400.5, 1e9, 'long', '']);
    const [id] = world.add(1, () => ({ durationSeconds: wrong }));
    return { names: ['range(durationSeconds)'], heal: () => world.admin.update('tasks', id!, world.good()) };
  },
  'another value': (world) => {
    const [id] = world.some(1);
    world.admin.update('tasks', id!, { status: world.random.pick(['Open', 'opened', '', 'closed ']) });
    return { names: ['oneOf(status)'], heal: () => world.admin.update('tasks', id!, { status: 'open' }) };
  },
  'half of the rows missing in a full read': (world) => {
    world.admin.remove(
      'tasks',
      world.ids.filter((_, n) => n % 2 === 0 || n > 100),
    );
    return { run: FULL, names: ['rows of run'], heal: null };
  },
  // The newest rows stay, so that only the number of rows is wrong.
  'half of the rows deleted': (world) => {
    world.admin.remove(
      'tasks',
      world.ids.filter((_, n) => n % 2 === 0 && n < ROWS),
    );
    return { run: { allowDeletes: true }, names: ['change'], heal: null };
  },
  'most rows deleted': (world) => {
    world.admin.remove(
      'tasks',
      world.ids.filter((_, n) => n % 4 !== 0 && n < ROWS),
    );
    return { run: { allowDeletes: true }, names: ['rows', 'change', 'rows of run'], heal: null };
  },
  'twice as many rows': (world) => {
    world.add(ROWS);
    return { names: ['change'], heal: null };
  },
  'frozen data': () => ({ names: ['newest(changedAt)'], days: 4, heal: null }),
  'an empty list': (world) => {
    world.admin.remove('tasks', world.ids);
    return { run: FULL, names: ['rows of run'], heal: null };
  },
};

async function failureOf(
  run: Promise<unknown>,
): Promise<Pick<RunError, 'message'> & { type: unknown; checks: unknown }> {
  try {
    await run;
  } catch (error) {
    if (!(error instanceof ApplicationFailure)) throw error;
    const [detail] = (error.details ?? []) as { checks: unknown }[];
    return { type: error.type, message: error.message, checks: detail?.checks };
  }
  return { type: 'published', message: '', checks: [] };
}

/** All objects that a query may read: the pointer, the parts of snapshots and change logs, and the table. */
async function visible({ store }: InProcessMirror): Promise<string[]> {
  const found: string[] = [];
  for await (const { key, bytes } of store.list('tasks/'))
    if (!/\/_(?:report|part)/.test(key)) found.push(`${key} ${bytes}`);
  return found;
}

describe('a defect in the data', () => {
  const names = Object.keys(DEFECTS);
  it.each(seeds(3).map((seed) => [seed, names[seed % names.length]!] as const))(
    'is named and appears nowhere: seed %i, %s',
    async (seed, name) => {
      const random = seededRandom(seed);
      const isFull = NEEDS_FULL.test(name) || random.below(3) === 0;
      const night: RunOptions = isFull ? FULL : {};
      const tables = random.below(4) === 0 ? '\n    tables: { format: delta }' : '';
      const csv = random.pick(['{}', '{ partSize: 4KiB }', '{ compression: none, lineBreaks: escape }']);
      const mirror = await InProcessMirror.start({
        simulator: { counts: { tasks: 0 }, now: START, pageMax: 50, order: random.pick(['id', 'updatedAt']) },
        resource: 'tasks',
        yaml: `{ name: tasks, csv: ${csv}, checks: ${(isFull ? CHECKS.replace(/ \]$/, OF_RUN) : CHECKS).replaceAll('\n', ' ')} }`,
        connection: `    sync: { overlap: 1s }${tables}`,
      });
      try {
        const world = new World(random, mirror);
        mirror.clock = START;
        world.add(ROWS);
        await mirror.run();
        for (let nights = 0; nights < 4; nights++) {
          world.night();
          world.add(1 + random.below(4));
          await mirror.run(night);
        }
        const before = await visible(mirror);
        const { runId, manifest } = await mirror.current();
        expect(manifest.checks!.map(({ outcome }) => outcome)).not.toContain('warned');

        world.night();
        const defect = DEFECTS[name]!(world);
        world.night((defect.days ?? 1) - 1);
        const failure = await failureOf(mirror.run(defect.run ?? night));
        expect(failure.type, failure.message).toBe('Check');
        expect(failure.checks).toEqual(defect.names);
        for (const check of defect.names) expect(failure.message).toContain(`${check}: allowed `);
        expect(failure.message).not.toMatch(/ref-\d|twin-value|Open|opened/);
        expect(await visible(mirror)).toEqual(before);
        expect((await mirror.current()).runId).toBe(runId);

        if (defect.heal === null) {
          const accepted = await mirror.run({ ...(defect.run ?? night), acceptChecks: 'alice@laptop' });
          const after = (await mirror.current()).manifest.checks!;
          expect(after.filter(({ outcome }) => outcome === 'accepted')).toEqual(
            defect.names.map((check) => expect.objectContaining({ name: check, acceptedBy: 'alice@laptop' })),
          );
          expect(accepted.warnings.filter((text) => text.includes('accepted by alice@laptop'))).toHaveLength(
            defect.names.length,
          );
        } else {
          defect.heal();
          world.admin.setNow(world.now + 60_000);
          mirror.clock = world.now + 60_000;
          await mirror.run(night);
          const published = (await mirror.current()).manifest.checks!;
          expect(published.filter(({ outcome }) => outcome !== 'passed')).toEqual([]);
        }
      } finally {
        await mirror.close();
      }
    },
  );
});
