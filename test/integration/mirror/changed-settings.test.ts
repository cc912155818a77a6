import { createHash, createHmac } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { folderOf } from '../../../src/lake/documents/lake-layout.js';
import { decodeManifest, type Manifest } from '../../../src/lake/documents/manifest.js';
import { readRecords } from '../../../src/lake/published/read-rows.js';
import { type Ended, InProcessMirror } from '../../support/in-process-mirror.js';
import { type Escapes, restored } from '../../support/oracle.js';
import { type Random, seededRandom } from '../../support/random.js';
import { readTree } from '../../support/snapshot.js';
import { isValueOf, readTableRows } from '../../support/table-rows.js';

const SEED = Number(process.env.WORKTRACK_SEED ?? 20261126);
const ROUNDS = Number(process.env.WORKTRACK_ROUNDS ?? 12);
const DAY = 24 * 60 * 60_000;

/** The fields of the records, in groups; settings name one of each. */
const FIELDS = ['email', 'note', 'person', 'amount', 'flag', 'person.email', 'person.deep'] as const;
const SECRETS: Readonly<Record<string, string>> = { a: 'a'.repeat(20), b: 'b'.repeat(20) };
const PATHS = ['time-entries', 'members'] as const;

interface Settings {
  readonly include: readonly string[] | null;
  readonly exclude: readonly string[];
  readonly mask: Readonly<Record<string, 'hash' | 'redact'>>;
  readonly secret: string | null;
  readonly nested: 'json' | 'flatten';
  readonly separator: string;
  readonly lineBreaks: 'keep' | 'escape';
  readonly escapeFormulas: boolean;
  readonly compression: 'gzip' | 'none';
  readonly path: (typeof PATHS)[number];
  readonly table: boolean;
}

const PLAIN: Settings = {
  ...{
    include: null,
    exclude: [],
    mask: {},
    secret: null,
    nested: 'json',
    separator: '.',
    lineBreaks: 'keep',
  },
  ...{ escapeFormulas: false, compression: 'gzip', path: 'time-entries', table: false },
};

type Cells = ReadonlyMap<string, string | null>;
type Row = Readonly<Record<string, string | null>>;

function yamlOf(settings: Settings, key = 'id'): [resource: string, connection: string] {
  const { include, exclude, mask, secret, nested, separator, lineBreaks, escapeFormulas, compression } =
    settings;
  const columns = {
    ...(exclude.length === 0 ? {} : { exclude }),
    ...(Object.keys(mask).length === 0 ? {} : { mask }),
    ...(include === null ? {} : { include }),
  };
  const csv = { nested, separator, lineBreaks, escapeFormulas, compression, partSize: '2KiB' };
  const resource = { name: 'things', path: settings.path, key: [key], window: '90d', columns, csv };
  if (secret !== null) process.env.WORKTRACK_TEST_MASK = SECRETS[secret]!;
  return [
    JSON.stringify(resource),
    '    sync: { reconcileEvery: never }\n' +
      (secret === null ? '' : '    masking: { secret: { env: WORKTRACK_TEST_MASK } }\n') +
      (settings.table ? '    tables: { format: delta }\n' : ''),
  ];
}

function hash(secret: string | null, text: string): string {
  const made = secret === null ? createHash('sha256') : createHmac('sha256', SECRETS[secret]!);
  return made.update(text).digest('hex');
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isObject(value: unknown): value is object {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
  );
}

/** The cells that settings say a record has, before escapes. */
function promised(record: string, settings: Settings): Cells {
  const { include, exclude, mask, nested, separator, secret } = settings;
  const cells = new Map<string, string | null>();
  const take = (path: readonly string[], value: unknown): void => {
    if (nested === 'flatten' && isObject(value)) {
      for (const [name, inner] of Object.entries(value)) take([...path, name], inner);
      return;
    }
    const names =
      nested === 'flatten'
        ? path.map((_, at) => path.slice(0, path.length - at).join(separator))
        : [path[0]!];
    const [name] = names;
    const isKey = name === 'id';
    const isIn = include === null || names.some((one) => include.includes(one));
    if (!isKey && (!isIn || names.some((one) => exclude.includes(one)))) return;
    const text = textOf(value);
    const masked = names.map((one) => (Object.hasOwn(mask, one) ? mask[one] : undefined)).find((one) => one);
    if (text === null || masked === undefined) cells.set(name!, text);
    else cells.set(name!, masked === 'redact' ? '[redacted]' : hash(secret, text));
  };
  for (const [name, value] of Object.entries(JSON.parse(record) as object)) take([name], value);
  return cells;
}

/** Every text of a record that a hash may have been made of. */
function* textsOf(value: unknown): Generator<string> {
  const text = textOf(value);
  if (text !== null) yield text;
  if (isObject(value)) for (const inner of Object.values(value)) yield* textsOf(inner);
}

function isHash(cell: string): boolean {
  return /^[0-9a-f]{64}$/.test(cell);
}

describe(`settings that change (seed ${SEED}, ${ROUNDS} rounds)`, () => {
  let mirror: InProcessMirror;
  afterEach(async () => {
    delete process.env.WORKTRACK_TEST_MASK;
    await mirror?.close();
  });

  it('give cells as they say, or a warning that counts the rows that cannot be restored', async () => {
    const random = seededRandom(SEED);
    mirror = await startMirror(PLAIN);
    const { admin } = mirror.simulator;
    const texts = new Texts(random);
    const world = new World(mirror);
    for (const path of PATHS)
      for (let n = 0; n < 24; n++) admin.create(path, { ...texts.record(), ...dateOf(path, admin.now()) });
    let settings = PLAIN;
    const log: string[] = [];
    const seen = { restated: 0, unrestored: 0, full: 0, inMemory: 0, refused: 0, rolledBack: 0, computed: 0 };
    await world.check(await world.run(settings), settings);
    const runs: Ended['runId'][] = [mirror.published!];
    for (let round = 0; round < ROUNDS; round++) {
      change(random, texts, admin, settings.path);
      const isBack = runs.length > 2 && random.share() < 0.06;
      if (isBack) {
        await mirror.rollBack(random.pick(runs.slice(-4, -1)));
        seen.rolledBack++;
      }
      if (random.share() < 0.05) {
        await mirror.configure(...yamlOf(settings, 'ref'));
        await expect(mirror.run()).rejects.toThrow(/the key \(ref\).*differs/);
        seen.refused++;
      }
      const before = settings;
      // Some rounds change nothing, and some go back to where they came from.
      if (random.share() < 0.85) settings = nextSettings(random, settings);
      log.push(`${round}${isBack ? ', after a rollback' : ''}: ${JSON.stringify(settings)}`);
      try {
        const isChanged = effect(before) !== effect(settings);
        const isAgain = random.share() < 0.12;
        const ended = await world.run(settings, isAgain);
        await world.check(ended, settings, { isChanged, isBack, before });
        const manifest = (await mirror.current()).manifest;
        seen.restated += manifest.counts.restated;
        seen.unrestored += manifest.counts.unrestored ?? 0;
        if (manifest.mode === 'full') seen.full++;
        else if (manifest.counts.restated > 0) seen.computed++;
        if (ended.inMemory) seen.inMemory++;
      } catch (error) {
        throw new Error(`${log.slice(-6).join('\n')}\n${(error as Error).message}`, { cause: error });
      }
      if (isBack) runs.splice(0);
      runs.push(mirror.published!);
    }
    console.log(`seed ${SEED}: ${ROUNDS} rounds, ${world.cells} cells`, { ...seen, resumed: mirror.resumed });
  });
});

describe('A change of settings', () => {
  let mirror: InProcessMirror;
  afterEach(async () => {
    delete process.env.WORKTRACK_TEST_MASK;
    await mirror?.close();
  });

  const use = (settings: Partial<Settings>) => mirror.configure(...yamlOf({ ...PLAIN, ...settings }));
  const cells = async (name: string): Promise<Map<string, string | null>> => {
    const { rows } = await readTree(mirror.store, (await mirror.current()).snapshot);
    return new Map(rows.map((row) => [row.id!, row[name] ?? null]));
  };

  async function begin(settings: Partial<Settings>, records = 10): Promise<string[]> {
    mirror = await startMirror({ ...PLAIN, ...settings });
    const { admin } = mirror.simulator;
    const ids = Array.from({ length: records }, () =>
      admin.create('time-entries', { email: 'ann@example.com', ...dateOf('time-entries', admin.now()) }),
    );
    await mirror.run();
    return ids;
  }

  it('a change that can be computed asks the service only for changes, and names what earlier files still show', async () => {
    await begin({});
    await use({ mask: { email: 'hash' } });
    const run = await mirror.run();
    expect((await mirror.current()).manifest.mode).toBe('increment');
    expect(run).toMatchObject({ inMemory: true, counts: { restated: 10, inserted: 0, updated: 0 } });
    expect(run.warnings).toEqual([
      'settings: things hides "email" from now on, but earlier snapshots and change logs still hold the clear values; ' +
        'snapshots are removed after 30 days, change logs are kept',
    ]);
    expect(new Set((await cells('email')).values())).toEqual(new Set([hash(null, 'ann@example.com')]));
    const again = await mirror.run();
    expect(again).toMatchObject({ counts: { restated: 0 }, warnings: [] });
    expect((await mirror.current()).manifest.shapes).toHaveLength(1);
  });

  it('a change that cannot be computed reads everything, restates what it restores, and counts the rest', async () => {
    const ids = await begin({ mask: { email: 'hash' }, secret: 'a' });
    const { admin } = mirror.simulator;
    admin.move('time-entries', ids.slice(0, 3), admin.now() - 200 * DAY);
    await use({});
    const run = await mirror.run();
    expect(run.counts).toMatchObject({ unchanged: 7, updated: 0, restated: 7, unrestored: 3 });
    expect(run.warnings).toEqual([
      'settings: columns.mask changed, so everything was read again; 3 rows that the service no longer lists keep ' +
        'cells of earlier settings: empty, masked or clear ones',
    ]);
    // An update of the service is none of these.
    admin.update('time-entries', ids[5]!, { note: 'x' });
    expect((await mirror.run()).counts).toMatchObject({ updated: 1, restated: 0 });
    const email = await cells('email');
    expect(ids.map((id) => email.get(id))).toEqual([
      ...Array(3).fill(hash('a', 'ann@example.com')),
      ...Array(7).fill('ann@example.com'),
    ]);
  });

  it('hashes no hash, even after a clock was set back', async () => {
    const ids = await begin({ mask: { email: 'hash' }, secret: 'a' });
    const { admin } = mirror.simulator;
    admin.move('time-entries', ids.slice(0, 3), admin.now() - 200 * DAY);
    mirror.clock -= 2 * 60 * 60_000;
    await use({});
    await mirror.run();
    // These were fetched in clear, at a time before that of the first run.
    admin.move('time-entries', ids.slice(3, 6), admin.now() - 200 * DAY);
    mirror.clock -= 60 * 60_000;
    await use({ mask: { email: 'hash' }, secret: 'b' });
    const run = await mirror.run();
    expect(run.counts).toMatchObject({ unrestored: 3 });
    const email = await cells('email');
    expect(ids.map((id) => email.get(id))).toEqual([
      ...Array(3).fill(hash('a', 'ann@example.com')),
      ...Array(7).fill(hash('b', 'ann@example.com')),
    ]);
    await use({});
    await mirror.run();
    await use({ mask: { email: 'hash' }, secret: 'a' });
    expect((await mirror.run()).counts).toMatchObject({ unrestored: 3 });
    const last = await cells('email');
    expect(ids.map((id) => last.get(id))).toEqual([
      ...Array(3).fill(hash('a', 'ann@example.com')),
      ...Array(3).fill(hash('b', 'ann@example.com')),
      ...Array(4).fill(hash('a', 'ann@example.com')),
    ]);
  });

  it('a change of the path reads the new list in full, and leaves the rows of the earlier one until someone decides', async () => {
    const connection = '    sync: { reconcileEvery: never }\n';
    const yaml = (path: string) => `{ name: things, path: ${path} }`;
    const simulator = { seed: 3, awkward: false, counts: { tasks: 25, members: 9 } };
    mirror = await InProcessMirror.start({ simulator, resource: 'things', yaml: yaml('tasks'), connection });
    const { admin } = mirror.simulator;
    await mirror.run();
    const [shared] = admin.records('tasks', 'listed');
    admin.create('members', shared!);
    await mirror.configure(yaml('members'), connection);
    const moved = await mirror.run({ reconcile: true });
    expect(moved.counts).toMatchObject({ fetched: 10, inserted: 9, deleted: 0, rows: 34, unlisted: 24 });
    expect(moved.warnings).toEqual([
      'list: things was read from tasks before and is now read from members; 24 rows of the earlier list are not in it and ' +
        'stay in the lake. If they are gone, run `worktrack export --resource things --allow-deletes`',
      'schema change: new column "name" (string)',
    ]);
    // Later full reads conclude no deletes either.
    expect(await mirror.run()).toMatchObject({ warnings: [], counts: { deleted: 0 } });
    const full = await mirror.run({ reconcile: true });
    expect(full).toMatchObject({ counts: { deleted: 0, rows: 34, unlisted: 24 } });
    expect(full.warnings).toHaveLength(1);
    expect(await mirror.run({ allowDeletes: true })).toMatchObject({ warnings: [], counts: { deleted: 24 } });
    // From now on, deletes are detected as usual.
    const ids = admin.records('members', 'listed').map((text) => (JSON.parse(text) as { id: string }).id);
    admin.remove('members', ids.slice(0, 1));
    expect(await mirror.run({ reconcile: true })).toMatchObject({ warnings: [], counts: { deleted: 1 } });
  });

  it.each([', deletes: keep', ', window: 90d'])(
    'a change of the path is remembered while deletes are not detected (%s)',
    async (undetected) => {
      const connection = '    sync: { reconcileEvery: never }\n';
      const yaml = (path: string, more: string) => `{ name: things, path: ${path}${more} }`;
      const simulator = { seed: 3, awkward: false, counts: { tasks: 15, members: 9 } };
      const before = yaml('tasks', undetected);
      mirror = await InProcessMirror.start({ simulator, resource: 'things', yaml: before, connection });
      await mirror.run();
      await mirror.configure(yaml('members', undetected), connection);
      await mirror.run({ full: true });
      await mirror.run();
      await mirror.configure(yaml('members', ''), connection);
      const run = await mirror.run({ reconcile: true });
      expect(run.counts).toMatchObject({ deleted: 0, rows: 24, unlisted: 15 });
      expect(run.warnings.join()).toContain('15 rows of the earlier list are not in it');
    },
  );

  it('a change of the path back and forth loses no row', async () => {
    const connection = '    sync: { reconcileEvery: never }\n';
    const yaml = (path: string) => `{ name: things, path: ${path} }`;
    const simulator = { seed: 3, awkward: false, counts: { tasks: 5, members: 4 } };
    mirror = await InProcessMirror.start({ simulator, resource: 'things', yaml: yaml('tasks'), connection });
    for (const path of ['tasks', 'members', 'tasks']) {
      await mirror.configure(yaml(path), connection);
      await mirror.run();
    }
    expect((await mirror.current()).manifest).toMatchObject({
      counts: { rows: 9, unlisted: 4 },
      list: { path: 'tasks', earlier: 'members' },
    });
  });
});

function startMirror(settings: Settings): Promise<InProcessMirror> {
  const [yaml, connection] = yamlOf(settings);
  const simulator = {
    seed: SEED,
    awkward: false,
    now: Date.now(),
    counts: { 'time-entries': 0, members: 0 },
  };
  return InProcessMirror.start({ simulator, resource: 'things', yaml, connection });
}

/** Makes values that repeat, so that equal values meet masks, and awkward ones. */
class Texts {
  constructor(private readonly random: Random) {}

  record(): Record<string, unknown> {
    const { random } = this;
    const text = (): string | null =>
      random.pick([
        null,
        '',
        "'=1",
        '-x\n',
        'a\\n',
        'ann@example.com',
        'bob@example.com',
        '[redacted]',
        'c\r"',
      ]);
    const person = (): unknown => {
      const made = {
        email: text(),
        ...(random.share() < 0.6 ? { deep: { x: random.below(3), y: text() } } : {}),
      };
      return random.pick([null, made, made, made, random.share() < 0.2 ? {} : made]);
    };
    return {
      ...{ email: text(), note: text(), person: person(), amount: random.below(9) - 4 },
      ...(random.share() < 0.7 ? { flag: random.share() < 0.5 } : {}),
      ...(random.share() < 0.1 ? { [`extra${random.below(3)}`]: text() } : {}),
    };
  }
}

function dateOf(path: string, now: number): object {
  return path === 'time-entries' ? { startedAt: new Date(now - DAY).toISOString() } : {};
}

type Admin = InProcessMirror['simulator']['admin'];

/** Changes a few records, and moves some out of the window, where the list does not show them any more. */
function change(random: Random, texts: Texts, admin: Admin, path: Settings['path']): void {
  const listed = admin.records(path, 'listed').map((text) => (JSON.parse(text) as { id: string }).id);
  for (let n = random.below(4); n > 0; n--) admin.update(path, random.pick(listed), texts.record());
  for (let n = random.below(3); n > 0; n--)
    admin.create(path, { ...texts.record(), ...dateOf(path, admin.now()) });
  if (path === 'time-entries' && listed.length > 12 && random.share() < 0.6)
    admin.move(path, [random.pick(listed), random.pick(listed)], admin.now() - 200 * DAY);
}

function nextSettings(random: Random, now: Settings): Settings {
  const some = (): string[] => FIELDS.filter(() => random.share() < 0.25);
  const pick: Record<string, () => Partial<Settings>> = {
    include: () => {
      const include = random.share() < 0.5 ? null : FIELDS.filter(() => random.share() < 0.6);
      return { include };
    },
    exclude: () => ({ exclude: some() }),
    mask: () => ({
      mask: Object.fromEntries(
        some().map((name) => [name, random.share() < 0.6 ? 'hash' : 'redact'] as const),
      ),
    }),
    unmask: () => ({ mask: {} }),
    secret: () => ({ secret: random.pick([null, 'a', 'b']) }),
    nested: () => ({
      nested: random.pick(['json', 'flatten'] as const),
      separator: random.pick(['.', '__']),
    }),
    lineBreaks: () => ({ lineBreaks: random.pick(['keep', 'escape'] as const) }),
    formulas: () => ({ escapeFormulas: random.share() < 0.5 }),
    compression: () => ({ compression: random.pick(['gzip', 'none'] as const) }),
    path: () => ({ path: random.share() < 0.3 ? random.pick(PATHS) : now.path }),
    table: () => ({ table: random.share() < 0.5 }),
    plain: () => ({ include: null, exclude: [], mask: {} }),
  };
  const changes = [
    random.pick(Object.keys(pick)),
    ...(random.share() < 0.3 ? [random.pick(Object.keys(pick))] : []),
  ];
  const next = Object.assign({}, now, ...changes.map((name) => pick[name]!())) as Settings;
  // The configuration accepts no empty list, and no name in both.
  const include = next.include?.length === 0 ? null : next.include;
  return { ...next, include, exclude: next.exclude.filter((one) => include?.includes(one) !== true) };
}

/** What shapes the files of a run. */
function effect({ path: _, table: __, secret, ...settings }: Settings): string {
  const isHashed = Object.values(settings.mask).includes('hash');
  return JSON.stringify([settings, isHashed ? secret : null]);
}

interface Round {
  readonly isChanged: boolean;
  readonly isBack: boolean;
  readonly before: Settings;
}

/** What the service has shown, and what the lake must have. */
class World {
  readonly #mirror: InProcessMirror;
  /** The newest version of each record that a run has seen, and whether the last list had it. */
  readonly #seen = new Map<string, string>();
  #listed = new Set<string>();
  /** Rows that the last change of settings has left with other cells. */
  #counted = new Set<string>();
  readonly #newest = new Map<string, string>();
  cells = 0;

  constructor(mirror: InProcessMirror) {
    this.#mirror = mirror;
  }

  /** @param isAgain whether a run that fails before it publishes comes first */
  async run(settings: Settings, isAgain = false): Promise<Ended> {
    await this.#mirror.configure(...yamlOf(settings));
    if (isAgain) await this.#mirror.abandon();
    const ended = await this.#mirror.run({ full: isAgain });
    this.#listed = new Set();
    for (const record of this.#mirror.simulator.admin.records(settings.path, 'listed')) {
      const { id } = JSON.parse(record) as { id: string };
      this.#seen.set(id, record);
      this.#listed.add(id);
    }
    return ended;
  }

  async check(ended: Ended, settings: Settings, round?: Round): Promise<void> {
    const { manifest, pointer, snapshot } = await this.#mirror.current();
    const { store } = this.#mirror;
    const rows = this.#values((await readTree(store, snapshot)).rows, settings);
    expect([...rows.keys()].sort()).toEqual([...this.#seen.keys()].sort());
    const wrong = new Set<string>();
    for (const [id, row] of rows) if (!this.#isAsPromised(row, this.#seen.get(id)!, settings)) wrong.add(id);
    this.#checkCounts(ended, manifest, wrong, round);
    this.#counted = wrong;

    // The newest row of each key in the change logs is the row of the snapshot.
    const log = decodeManifest(await store.read(pointer.changes!), folderOf(pointer.changes!));
    const changes = this.#values((await readTree(store, pointer.changes!)).rows, settings);
    for (const [id, row] of changes) this.#newest.set(id, JSON.stringify(filled(row)));
    if (!round?.isBack)
      for (const [id, row] of rows) expect(JSON.stringify(filled(row)), id).toBe(this.#newest.get(id));
    else for (const [id, row] of rows) this.#newest.set(id, JSON.stringify(filled(row)));
    expect(log.counts.restated).toBe(manifest.counts.restated);

    const records = new Map<string, Row>();
    for await (const one of readRecords(store, manifest, { rows: 'all' })) records.set(one.id!, { ...one });
    expect(records.size).toBe(rows.size);
    for (const [id, row] of records) expect(filled(row)).toEqual(filled(rows.get(id)!));
    if (settings.table) {
      const table = await readTableRows(store, 'things');
      expect(table.length).toBe(rows.size);
      for (const found of table)
        for (const [name, cell] of Object.entries(rows.get(found.id as string)!))
          expect(isValueOf(found[name], cell), `${name}: ${String(found[name])} for ${cell}`).toBe(true);
    }
  }

  #values(rows: readonly Row[], settings: Settings): Map<string, Row> {
    const escapes: Escapes = settings;
    return new Map(
      rows.map((row) => {
        const values = Object.entries(row).map(([name, cell]): [string, string | null] => {
          this.cells++;
          return [name, cell === null ? null : restored(cell, escapes)];
        });
        return [row.id!, Object.fromEntries(values)];
      }),
    );
  }

  /** Checks a row. Cells that are not as the settings say must at least show nothing that they hide. */
  #isAsPromised(row: Row, record: string, settings: Settings): boolean {
    const wanted = promised(record, settings);
    const value = JSON.parse(record) as Record<string, unknown>;
    const hashes = new Set(
      [...textsOf(value)].flatMap((text) => [null, 'a', 'b'].map((one) => hash(one, text))),
    );
    let isRight = true;
    for (const name of new Set([...Object.keys(row), ...wanted.keys()])) {
      if (name.startsWith('_')) continue;
      const cell = row[name] ?? null;
      if (cell === (wanted.get(name) ?? null)) continue;
      isRight = false;
      if (cell === null || cell === '[redacted]') continue;
      if (isHash(cell)) expect(hashes, `${name} has the hash of a hash`).toContain(cell);
      else expect(isHidden(name, cell, value, settings), `${name} shows ${cell}`).toBe(false);
    }
    return isRight;
  }

  #checkCounts({ warnings }: Ended, manifest: Manifest, wrong: ReadonlySet<string>, round?: Round): void {
    for (const id of wrong) expect(this.#listed, 'a listed row is wrong').not.toContain(id);
    if (round !== undefined && manifest.list.path !== round.before.path)
      expect(warnings.join('\n')).toMatch(/\d+ rows of the earlier list are not in it .*--allow-deletes/);
    if (round?.isBack) return;
    if (!round?.isChanged) {
      for (const id of wrong) expect(this.#counted, 'a row is wrong that no warning counted').toContain(id);
      return;
    }
    const unlisted = [...this.#seen.keys()].filter((id) => !this.#listed.has(id)).length;
    const told = warnings.map(
      (text) => /settings: .*?(\d+) rows? that the service no longer/.exec(text)?.[1],
    );
    const count = Number(told.find((one) => one !== undefined) ?? 0);
    expect(count).toBe(manifest.counts.unrestored ?? 0);
    expect(count, warnings.join('\n')).toBeGreaterThanOrEqual(wrong.size);
    expect(count).toBeLessThanOrEqual(unlisted);
    const isNew = manifest.list.path !== round.before.path;
    if (isNew)
      expect(warnings.join('\n')).toMatch(/\d+ rows of the earlier list are not in it.*--allow-deletes/);
  }
}

function filled(row: Row): Record<string, string> {
  return Object.fromEntries(
    Object.entries(row).filter((entry): entry is [string, string] => entry[1] !== null),
  );
}

/** Whether a cell shows a value in clear that the settings hide. */
function isHidden(name: string, cell: string, record: Record<string, unknown>, settings: Settings): boolean {
  const { include, exclude, mask, nested, separator } = settings;
  const path = name.split(/\.|__/);
  const names =
    nested === 'flatten' ? path.map((_, at) => path.slice(0, at + 1).join(separator)) : [path[0]!, name];
  const hides = (some: readonly string[]): boolean =>
    (include !== null && !some.some((one) => include.includes(one))) ||
    some.some((one) => exclude.includes(one) || Object.hasOwn(mask, one));
  if (hides(names)) return true;
  if (nested === 'json' || !cell.startsWith('{') || !isObject(record[name])) return false;
  // The JSON text of an object may show a value that is hidden in its own column.
  const inside = Object.keys(record[name] as object).map((one) => `${name}${separator}${one}`);
  return inside.some((one) => hides([name, one]));
}
