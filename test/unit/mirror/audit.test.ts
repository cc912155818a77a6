import { afterEach, describe, expect, it } from 'vitest';
import { auditText } from '../../../src/cli/runs/audit-lines.js';
import { auditOutcome } from '../../../src/core/audit-outcome.js';
import type { AuditReport, DiffCell } from '../../../src/core/contract/index.js';
import { ODD_SERVICES } from '../../../src/simulator/index.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { lakeContents } from '../../support/lake-contents.js';
import { idOf } from '../../support/mirrored.js';
import { type Random, seededRandom } from '../../support/random.js';
import { IS_LONG, seeds } from '../../support/seeds.js';

const DAY = 86_400_000;
/** A time that no increment reads. */
const LONG_AGO = '2020-01-01T00:00:00.000Z';
const FOUND = ['different', 'missing', 'extra', 'pending', 'notYetLookedFor', 'notComparable'] as const;

describe('an audit', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror?.close());

  const start = async (
    simulator: Parameters<typeof InProcessMirror.start>[0]['simulator'] = {},
    { yaml = '{ name: tasks, fetchById: true }', connection = '    sync: { reconcileEvery: never }\n' } = {},
  ): Promise<InProcessMirror['simulator']['admin']> => {
    mirror = await InProcessMirror.start({
      simulator: { seed: 1, awkward: false, counts: { tasks: 40 }, fetchById: 'all', ...simulator },
      ...{ resource: 'tasks', yaml, connection },
    });
    await mirror.run();
    mirror.clock += DAY;
    mirror.simulator.admin.advance(DAY);
    return mirror.simulator.admin;
  };
  const found = (audit: AuditReport) =>
    Object.fromEntries(FOUND.flatMap((name) => (audit[name] === 0 ? [] : [[name, audit[name]]])));

  it.each([true, false])(
    'finds nothing in an equal snapshot, in memory %s, and leaves the lake as it is',
    async (inMemory) => {
      await start();
      const held = await lakeContents(mirror.store);
      const audit = await mirror.audit({ inMemory });
      expect(audit).toMatchObject({ rows: 40, equal: 40, readings: 1, limits: [], keptNewer: 0 });
      expect(found(audit)).toEqual({});
      expect(audit.cells % 40).toBe(0);
      expect(audit.cells).toBeGreaterThan(0);
      expect(await lakeContents(mirror.store)).toEqual(held);
    },
  );

  it('counts what people have changed since the checkpoint as pending', async () => {
    const admin = await start();
    const ids = admin.records('tasks').map(idOf);
    admin.update('tasks', ids[0]!, { title: 'x' });
    admin.create('tasks', { title: 'new' });
    const audit = await mirror.audit();
    expect([found(audit), audit.equal, audit.rows]).toEqual([{ pending: 2 }, 39, 40]);
  });

  it('names each kind of difference, and the cells that differ', async () => {
    const admin = await start();
    const ids = admin.records('tasks').map(idOf);
    admin.update('tasks', ids[0]!, { title: 'silent', updatedAt: LONG_AGO });
    admin.create('tasks', { title: 'unseen', updatedAt: LONG_AGO });
    admin.remove('tasks', [ids[5]!]);
    const held = await lakeContents(mirror.store);
    const audit = await mirror.audit({ cells: 100 });
    expect([found(audit), audit.equal]).toEqual([{ different: 1, missing: 1, extra: 1 }, 38]);
    const lines = (await mirror.store.read(audit.diff!)).toString('utf8').trimEnd().split('\n');
    const cells = lines.map((line) => JSON.parse(line) as DiffCell);
    expect(cells).toContainEqual({
      key: [ids[0]],
      column: 'title',
      before: expect.any(String),
      after: 'silent',
    });
    expect(cells).toContainEqual(expect.objectContaining({ column: 'title', before: null, after: 'unseen' }));
    expect(cells).toContainEqual(
      expect.objectContaining({ key: [ids[5]], column: '_deleted_at', before: null }),
    );
    await mirror.store.remove([audit.diff!]);
    expect(await lakeContents(mirror.store)).toEqual(held);
    expect(audit.readings).toBe(2);
  });

  it('takes absent records for deleted ones that are not yet looked for, until the next detection is late', async () => {
    const admin = await start({}, { connection: '    sync: { reconcileEvery: 7d }\n' });
    admin.remove('tasks', [admin.records('tasks').map(idOf)[5]!]);
    expect(found(await mirror.audit())).toEqual({ notYetLookedFor: 1 });
    mirror.clock += 8 * DAY;
    expect(found(await mirror.audit())).toEqual({ extra: 1 });
  });

  it('cannot compare absent records that the service does not show by id', async () => {
    const admin = await start({}, { yaml: '{ name: tasks, fetchById: false }' });
    admin.remove('tasks', [admin.records('tasks').map(idOf)[5]!]);
    expect(found(await mirror.audit())).toEqual({ notComparable: 1 });
  });

  it.each(['{ name: tasks, fetchById: false }', '{ name: tasks, fetchById: true, key: [id, projectId] }'])(
    'says that it cannot request a sample of %s by id',
    async (yaml) => {
      await start({}, { yaml });
      const audit = await mirror.audit({ sample: 0.5 });
      expect(audit).toMatchObject({ equal: 0, limits: ['sample', 'no-fetch-by-id'] });
      expect(auditOutcome(audit)).toBe('not-compared');
      expect(auditText(audit)).toContain('needs `fetchById: true`');
    },
  );

  it('compares tombstones', async () => {
    const admin = await start();
    admin.remove('tasks', [admin.records('tasks').map(idOf)[5]!]);
    await mirror.run({ reconcile: true });
    const audit = await mirror.audit();
    expect([found(audit), audit.equal, audit.rows]).toEqual([{}, 40, 40]);
  });

  it('counts rows that a full read leaves as they are, because their "updated at" is later', async () => {
    const yaml = '{ name: tasks, fetchById: true, updatedAt: updatedAt }';
    const admin = await start({}, { yaml });
    admin.update('tasks', admin.records('tasks').map(idOf)[3]!, { title: 'older', updatedAt: LONG_AGO });
    const audit = await mirror.audit();
    expect([found(audit), audit.keptNewer]).toEqual([{ different: 1 }, 1]);
    await mirror.run({ full: true });
    expect(found(await mirror.audit())).toEqual({ different: 1 });
  });

  it('cannot compare cells that earlier settings have hidden', async () => {
    const masked = (secret: string) =>
      `    sync: { reconcileEvery: never }\n    masking: { secret: { env: ${secret} } }\n`;
    process.env.FIRST_SECRET = 'a-first-secret-of-24-signs';
    process.env.OTHER_SECRET = 'another-secret-of-24-signs';
    const yaml = '{ name: tasks, columns: { mask: { title: hash } } }';
    await start({}, { yaml, connection: masked('FIRST_SECRET') });
    expect(found(await mirror.audit())).toEqual({});
    await mirror.configure(yaml, masked('OTHER_SECRET'));
    const audit = await mirror.audit();
    expect([audit.equal, found(audit)]).toEqual([0, { notComparable: 40 }]);
  });

  it('reads a sample of the rows by id, the same in each audit', async () => {
    const admin = await start({ counts: { tasks: 300 } });
    for (const id of admin.records('tasks').map(idOf).slice(0, 150))
      admin.update('tasks', id, { title: 'silent', updatedAt: LONG_AGO });
    admin.resetStats();
    const audit = await mirror.audit({ sample: 0.1 });
    expect(audit.limits).toEqual(['sample']);
    expect(audit.rows).toBeGreaterThan(10);
    expect(audit.rows).toBeLessThan(60);
    expect(audit.different).toBeGreaterThan(0);
    expect(audit.different + audit.equal).toBe(audit.rows);
    const again = await mirror.audit({ sample: 0.1, inMemory: false });
    expect({ ...again, requests: 0, bytes: 0 }).toEqual({ ...audit, requests: 0, bytes: 0 });
  });

  it('proves nothing with a sample if fetch by id answers 404 to everything', async () => {
    const connection = '    sync: { reconcileEvery: never }\n';
    await start({ odd: ['by-id-404'] }, { connection });
    const audit = await mirror.audit({ sample: 0.5 });
    expect([found(audit), audit.equal]).toEqual([{ notComparable: audit.rows }, 0]);
  });

  it('does not compare tombstones in a sample, which are not asked for by id', async () => {
    const admin = await start({ counts: { tasks: 100 } });
    admin.remove('tasks', admin.records('tasks').map(idOf).slice(0, 50));
    await mirror.run({ reconcile: true, allowDeletes: true });
    const audit = await mirror.audit({ sample: 0.5 });
    expect(audit.notComparable).toBeGreaterThan(0);
    expect(audit.equal + audit.notComparable).toBe(audit.rows);
  });

  it('says that a list which is shorter than its total is incomplete, although no full read has confirmed the total', async () => {
    await start({ odd: ['list-cut'], counts: { tasks: 5_000 } }, { yaml: '{ name: tasks }' });
    const audit = await mirror.audit();
    expect([audit.limits, audit.different]).toEqual([['list-incomplete'], 0]);
  });

  it('compares rows outside of the window in a sample, if the service shows them by id', async () => {
    const simulator = { awkward: false, counts: { 'time-entries': 60 }, fetchById: 'all' } as const;
    const yaml = '{ name: time-entries, window: 90d, fetchById: true }';
    mirror = await InProcessMirror.start({ simulator, resource: 'time-entries', yaml });
    await mirror.run();
    const { admin } = mirror.simulator;
    const [first, second] = admin.records('time-entries', 'listed').map(idOf);
    admin.remove('time-entries', [first!]);
    admin.move('time-entries', [second!], admin.now() - 200 * DAY);
    mirror.clock += 60 * DAY;
    admin.advance(60 * DAY);
    await mirror.run();
    const whole = await mirror.audit();
    expect(whole.notComparable).toBeGreaterThan(1);
    const sample = await mirror.audit({ sample: 0.99 });
    expect(sample.notComparable).toBeLessThanOrEqual(1);
    expect(sample.equal).toBeGreaterThan(whole.equal);
    // The record that was moved out of the window before a run has read it.
    expect([whole.different, sample.different, sample.missing, sample.extra]).toEqual([0, 1, 0, 0]);
  });

  it('sends no more requests than allowed, and says that it is partial', async () => {
    const connection = '    sync: { reconcileEvery: never, pageSize: 10 }\n';
    const admin = await start({ counts: { tasks: 300 } }, { connection });
    for (const id of admin.records('tasks').map(idOf))
      admin.update('tasks', id, { title: 'silent', updatedAt: LONG_AGO });
    const audit = await mirror.audit({ maxRequests: 100 });
    expect(audit.limits).toEqual(['requests']);
    expect(audit.requests).toBeLessThanOrEqual(100);
    expect(audit.different).toBeGreaterThanOrEqual(40);
    expect(audit.rows).toBe(audit.different);
    await expect(mirror.audit({ maxRequests: 50 })).rejects.toThrow(/at least 69/);
  });

  it('needs a published snapshot', async () => {
    mirror = await InProcessMirror.start({
      ...{ simulator: { counts: { tasks: 1 } }, resource: 'tasks', yaml: '{ name: tasks }' },
    });
    await expect(mirror.audit()).rejects.toThrow(/nothing is published/);
  });
});

/** Changes a service without a trace in its increments. Returns how many differences of each kind there are. */
function seedDifferences(admin: InProcessMirror['simulator']['admin'], random: Random, each: number) {
  const ids = admin.records('tasks').map(idOf);
  const take = (): string => ids.splice(random.below(ids.length), 1)[0]!;
  for (let n = 0; n < each; n++) {
    const fields = random.pick([{ title: `d${n}` }, { status: null }, { title: '' }, { added: { a: n } }]);
    admin.update('tasks', take(), { ...fields, updatedAt: LONG_AGO });
    admin.create('tasks', { title: `m${n}`, updatedAt: LONG_AGO });
    admin.remove('tasks', [take()]);
  }
  return ids;
}

type Admin = InProcessMirror['simulator']['admin'];

/** Runs an action before each of the next responses, as people work while an audit reads. */
function beforeAnswers(admin: Admin, left: number, action: (left: number) => void): void {
  if (left === 0) return;
  admin.beforeAnswer({ resource: 'tasks' }, () => {
    admin.advance(1000);
    action(left);
    beforeAnswers(admin, left - 1, action);
  });
}

describe('an audit of a service whose lists shift while they are read', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror?.close());

  it.each(seeds(2))('finds all differences and invents none, seed %i', async (seed) => {
    const random = seededRandom(seed);
    const [rows, each] = IS_LONG ? [6000, 334] : [400, 33];
    mirror = await InProcessMirror.start({
      simulator: {
        ...{ seed, awkward: true, counts: { tasks: rows }, fetchById: 'all' },
        ...{ cursorStyle: random.pick(['offset', 'keyset']), order: random.pick(['id', 'updatedAt']) },
      },
      ...{ resource: 'tasks', yaml: '{ name: tasks, fetchById: true }' },
      connection: '    sync: { reconcileEvery: never, pageSize: 25 }\n',
    });
    const { admin } = mirror.simulator;
    await mirror.run();
    mirror.clock += DAY;
    admin.advance(DAY);
    const others = seedDifferences(admin, random, each);
    // People work while the audit reads.
    beforeAnswers(admin, 60, (page) => {
      if (random.below(3) === 0) admin.create('tasks', { title: 'new' });
      else admin.update('tasks', random.pick(others), { title: `v${page}` });
    });
    const audit = await mirror.audit({ inMemory: random.below(2) === 0, cells: 1000 });
    expect([audit.different, audit.missing, audit.extra]).toEqual([each, each, each]);
  });

  it.each(seeds(2))(
    'reports nothing but pending changes of a busy and correct mirror, seed %i',
    async (seed) => {
      const random = seededRandom(seed);
      mirror = await InProcessMirror.start({
        simulator: {
          seed,
          counts: { tasks: 150 },
          fetchById: 'all',
          cursorStyle: 'offset',
          order: 'updatedAt',
        },
        ...{ resource: 'tasks', yaml: '{ name: tasks, fetchById: true }' },
        connection: '    sync: { pageSize: 20 }\n',
      });
      const { admin } = mirror.simulator;
      await mirror.run();
      for (let round = 0; round < (IS_LONG ? 20 : 5); round++) {
        mirror.clock += 3_600_000;
        admin.advance(3_600_000);
        for (let n = 0; n < 4; n++) {
          const ids = admin.records('tasks').map(idOf);
          admin.update('tasks', random.pick(ids), { title: `v${n}` });
          admin.create('tasks', { title: 'new' });
          if (n === 0) admin.remove('tasks', [random.pick(ids)]);
        }
        beforeAnswers(admin, 8, () => {
          admin.update('tasks', random.pick(admin.records('tasks').map(idOf)), { title: 'meanwhile' });
        });
        const audit = await mirror.audit();
        expect([audit.different, audit.missing, audit.extra, audit.notComparable]).toEqual([0, 0, 0, 0]);
        expect(audit.limits).toEqual([]);
        if (round % 3 === 2) await mirror.run({ reconcile: round % 2 === 0 });
      }
    },
  );
});

/** Odd services that change no record by themselves, and whose lists can be read: the others end a run or an audit with an error. */
const READABLE = ODD_SERVICES.map(({ name }) => name).filter(
  (name) =>
    !/^(?:limit|endless|outage|challenge|forbidden|retry-after|redirect|heavy|gateway|plain|head-)/.test(
      name,
    ) &&
    !/^(?:announced|list-ended|cursor-ignored|empty-object|error-in-200|huge-cursor|increment-404)/.test(
      name,
    ) &&
    !/^(?:last-page|latin1|length-in-characters|null-data-always|null-records|repeated-ids|poison|not-a-number|control-char)/.test(
      name,
    ) &&
    !/^(?:key-replaced|untimed-changes|archived-records|silent-changes|marked-deletes)/.test(name),
);

describe('an audit of an odd service', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror?.close());

  it.each(seeds(4))('finds a difference that it can see, and invents none, seed %i', async (seed) => {
    const random = seededRandom(seed);
    const odd = random.pick(READABLE);
    mirror = await InProcessMirror.start({
      simulator: { seed, awkward: true, counts: { tasks: 120 }, fetchById: 'all', odd: [odd] },
      ...{ resource: 'tasks', yaml: `{ name: tasks, fetchById: ${random.below(2) === 0} }` },
      connection: '    sync: { reconcileEvery: never, pageSize: 50 }\n',
    });
    const { admin } = mirror.simulator;
    await mirror.run();
    mirror.clock += DAY;
    admin.advance(DAY);
    const changed = random.pick(admin.records('tasks').map(idOf));
    admin.update('tasks', changed, { title: 'silent', updatedAt: LONG_AGO });
    const audit = await mirror.audit({ inMemory: random.below(2) === 0 });
    expect([odd, audit.missing, audit.extra]).toEqual([odd, 0, 0]);
    const isSeen = audit.equal + audit.different === audit.rows && audit.limits.length === 0;
    expect([odd, audit.different]).toEqual([odd, isSeen ? 1 : Math.min(audit.different, 1)]);
  });
});
