import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ColumnChunk, parquetMetadataAsync } from 'hyparquet';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import { duckDbBindings } from '../../../src/core/duckdb-library.js';
import { tableKeys } from '../../../src/lake/documents/lake-layout.js';
import { readManifestVersion } from '../../../src/lake/documents/manifest.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import { checkTable } from '../../../src/table/index.js';
import { readTable } from '../../../src/table/log/read-table.js';
import { connectTo, convertText } from '../../../src/table/parquet/convert-text.js';
import type { PartColumn, PartFile } from '../../../src/table/parquet/part-file.js';
import { updateFile } from '../../../src/table/parquet/update-file.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { idOf } from '../../support/mirrored.js';
import { type Random, seededRandom } from '../../support/random.js';
import { readParquet } from '../../support/read-parquet.js';
import { seeds } from '../../support/seeds.js';
import { readPointer, readSnapshot } from '../../support/snapshot.js';
import { isValueOf, readTableRows } from '../../support/table-rows.js';
import { CSV } from '../lake/published.js';

const DAY = 86_400_000;
const COLUMN_SETTINGS = ['{ mask: { title: hash } }', '{ mask: { title: redact } }', '{}'];

/** Compares every cell of a table with the snapshot. */
async function expectEqual(store: ObjectStore, lineBreaks: 'keep' | 'escape' = 'keep'): Promise<void> {
  const snapshot = await readSnapshot(store, 'tasks');
  const table = await readTableRows(store, 'tasks');
  const asValue = (cell: string | null) => (lineBreaks === 'keep' || cell === null ? cell : restored(cell));
  const byKey = new Map(table.map((row) => [String(row.id), row]));
  expect([table.length, byKey.size]).toEqual([snapshot.rows.length, snapshot.rows.length]);
  for (const row of snapshot.rows) {
    const found = byKey.get(row.id!)!;
    const wrong = snapshot.header.filter(
      (name) => !isValueOf(found[name] ?? null, asValue(row[name] ?? null)),
    );
    expect(wrong, row.id!).toEqual([]);
  }
}

/** The value of an escaped cell (docs/explanation/guarantees.md#line-breaks). No value here is the JSON of an object. */
function restored(cell: string): string {
  return cell.replace(/\\(.)/g, (_, mark: string) => ({ n: '\n', r: '\r' })[mark] ?? mark);
}

/** Files of the newest version that were updated from earlier ones. */
async function updatedFiles(store: ObjectStore): Promise<string[]> {
  const { state } = await readTable(store, 'tasks');
  const updated: string[] = [];
  for (const path of state.files.keys())
    if ((await rowsUpdatedIn(store, tableKeys('tasks').data(path))) > 0) updated.push(path);
  return updated;
}

async function rowsUpdatedIn(store: ObjectStore, key: ObjectKey): Promise<number> {
  const bytes = await store.read(key);
  const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  const { key_value_metadata: metadata = [] } = await parquetMetadataAsync(buffer);
  return Number(metadata.find((one) => one.key === 'worktrack.updated')?.value ?? 0);
}

interface World {
  readonly mirror: InProcessMirror;
  readonly random: Random;
  readonly lineBreaks: 'keep' | 'escape';
  readonly runs: RunId[];
  readonly log: string[];
}

let used = 0;

// The seeds come before what their worlds have in common.
describe('a table whose files are updated', { shuffle: false }, () => {
  let mirror: InProcessMirror | undefined;
  afterEach(() => mirror?.close());

  it.each(seeds(2))('equals the snapshot after each of many changes, seed %i', async (seed) => {
    const random = seededRandom(seed);
    const policy = random.pick(['mark', 'drop', 'keep']);
    const lineBreaks = random.pick(['keep', 'escape'] as const);
    const settings =
      `    deletes: ${policy}
    sync: { overlap: 1m }
    tables: { format: delta }
` +
      `    csv: { partSize: ${random.pick(['4KiB', '16KiB', '64MiB'])}, lineBreaks: ${lineBreaks} }
`;
    mirror = await InProcessMirror.start({
      simulator: { seed, awkward: false, counts: { tasks: 40 + random.below(160) } },
      ...{ resource: 'tasks', yaml: 'tasks', connection: settings },
    });
    const world: World = { mirror, random, lineBreaks, runs: [], log: [] };
    try {
      await night(world);
      for (let step = 0; step < 10; step++) {
        const what = random.pick([
          'night',
          'night',
          'night',
          'night',
          'lost',
          'rollback',
          'purge',
          'settings',
        ]);
        world.log.push(what);
        if (what === 'lost') await loseCommit(world);
        if (what === 'rollback') await rollBack(world);
        if (what === 'purge')
          await mirror.purge(random.pick(mirror.simulator.admin.records('tasks').map(idOf)));
        if (what === 'settings')
          await mirror.configure(`{ name: tasks, columns: ${random.pick(COLUMN_SETTINGS)} }`, settings);
        await night(world);
      }
      expect(await checkTable(mirror.store, 'tasks')).toEqual([]);
    } catch (error) {
      throw new Error(`${world.log.join('\n')}\n${error instanceof Error ? error.message : error}`, {
        cause: error,
      });
    }
  });

  it('has files that were updated', () => expect(used).toBeGreaterThan(0));

  it('converts the part in full if the earlier file is not the one that it wrote', async () => {
    mirror = await InProcessMirror.start({
      simulator: { awkward: false, counts: { tasks: 100 } },
      ...{ resource: 'tasks', yaml: 'tasks', connection: '    tables: { format: delta }\n' },
    });
    const { store, simulator } = mirror;
    const ids = simulator.admin.records('tasks').map(idOf);
    const change = async (title: string): Promise<void> => {
      mirror!.clock += DAY;
      simulator.admin.advance(DAY);
      simulator.admin.update('tasks', ids[7]!, { title });
      await mirror!.run();
    };
    await mirror.run();
    await change('updated');
    expect((await updatedFiles(store)).length).toBe(1);
    const { snapshot, manifests } = await readPointer(store, 'tasks');
    const published = await readManifestVersion(store, snapshot, manifests.snapshot);
    const changed = published?.manifest.parts.map(({ base }) => base?.columns);
    expect(changed).toEqual([['_run_id', '_synced_at', 'title', 'updatedAt']]);
    const { state } = await readTable(store, 'tasks');
    const key = tableKeys('tasks').data([...state.files.keys()][0]!);
    const other = await store.read(key);
    // In the middle are values.
    other[other.length >> 1]! ^= 1;
    await store.write(key, other);
    await change('converted');
    expect(await updatedFiles(store)).toEqual([]);
    await expectEqual(store);
  });
});

function change({ mirror, random, log }: World): void {
  const { admin } = mirror.simulator;
  for (let at = random.below(5); at > 0; at--) {
    const ids = admin.records('tasks').map(idOf);
    const what = random.pick(['create', 'update', 'update', 'update', 'remove', 'field', 'type'] as const);
    if (what === 'create') admin.create('tasks', { title: `new ${random.below(100)}` });
    else if (ids.length === 0) continue;
    else if (what === 'remove') admin.remove('tasks', [random.pick(ids)]);
    else if (what === 'field')
      admin.addField('tasks', `field${random.below(3)}`, '12', { count: 2, pick: 'newest' });
    else if (what === 'type')
      admin.update('tasks', random.pick(ids), {
        [`field${random.below(3)}`]: random.pick([1, 0.125, 'x', 1e30, null]),
      });
    else
      admin.update('tasks', random.pick(ids), {
        title: random.pick(['a\nb', '\\n', '', ',;"', `v${random.below(9)}`]),
      });
    log.push(what);
  }
}

async function night(world: World): Promise<void> {
  const { mirror, random, lineBreaks, runs, log } = world;
  mirror.clock += DAY;
  mirror.simulator.admin.advance(DAY);
  change(world);
  const reconcile = random.below(5) === 0;
  const options = { inMemory: random.below(3) > 0, ...(reconcile ? { reconcile, allowDeletes: true } : {}) };
  const { runId, counts } = await mirror.run(options);
  log.push(`run ${runId} ${JSON.stringify(counts)}`);
  runs.push(runId);
  await expectEqual(mirror.store, lineBreaks);
  used += (await updatedFiles(mirror.store)).length;
}

async function rollBack({ mirror, random, lineBreaks, runs }: World): Promise<void> {
  mirror.clock += 60_000;
  await mirror.rollBack(random.pick(runs));
  await expectEqual(mirror.store, lineBreaks);
}

/** As if the worker died before its last commit, whose files are left. */
async function loseCommit({ mirror: { store } }: World): Promise<void> {
  const { state } = await readTable(store, 'tasks');
  const pointer = await readPointer(store, 'tasks');
  expect(state.shown?.runId).toBe(pointer.runId);
  if (state.version % 10 !== 0) await store.remove([tableKeys('tasks').commit(state.version)]);
}

/** The bytes of a column of a row group. */
function bytesOf(file: Buffer, { meta_data: metadata }: ColumnChunk): Buffer {
  const {
    dictionary_page_offset: dictionary,
    data_page_offset: data,
    total_compressed_size: length,
  } = metadata!;
  const from = Number(dictionary ?? data);
  return file.subarray(from, from + Number(length));
}

describe('the update of a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'worktrack-update-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const opened = connectTo(duckDbBindings('a test'), folder);
  const COLUMNS: readonly PartColumn[] = [
    { alias: 'id', kind: 'number', type: 'decimal(18,2)', fixed: false },
    { alias: 'value', kind: 'integer', type: 'long', fixed: false },
  ];

  async function partOf(name: string, rows: readonly string[], columns = COLUMNS): Promise<PartFile> {
    const text = Buffer.from(`${[columns.map(({ alias }) => alias).join(','), ...rows].join('\n')}\n`);
    const path = join(folder, name);
    await writeFile(path, text);
    return { path, rows: rows.length, rawBytes: text.length, csv: { ...CSV, compression: 'none' }, columns };
  }

  /** Updates a file of ten rows, or more. */
  async function update(
    changed: readonly string[],
    of: {
      readonly before?: readonly PartColumn[];
      readonly now?: readonly PartColumn[];
      readonly more?: string[];
      /** Rows that the part has more than the file. */
      readonly added?: number;
      readonly changedColumns?: readonly string[];
    } = {},
  ) {
    const { before = COLUMNS, now = COLUMNS, more = [], added = 0, changedColumns = null } = of;
    const connection = await opened;
    const rows = [...Array.from({ length: 10 }, (_, at) => `${at},${at}`), ...more];
    const use = await mkdtemp(join(folder, 'use-'));
    const [earlier, to] = [join(use, 'before.parquet'), join(use, 'after.parquet')];
    await convertText(connection, await partOf('part', rows, before), { to: earlier, codec: 'zstd' });
    const changes = await partOf('changes', changed, now);
    const part = { rows: rows.length + added, rawBytes: 1000, columns: now };
    const updated = await updateFile(
      connection,
      { before: earlier, changes, part, key: ['id'], changedColumns },
      { to, codec: 'zstd' },
    );
    return updated === null ? null : { ...updated, values: (await readParquet(readFileSync(to))).rows };
  }

  it('replaces rows by their key and adds new ones', async () => {
    const { rows, values } = (await update(['3,-3', '10,10'], { added: 1 }))!;
    expect(rows).toBe(11);
    const expected = Array.from({ length: 11 }, (_, at) => [BigInt(at * 100), BigInt(at === 3 ? -3 : at)]);
    expect(values.map(({ id, value }) => [id, value])).toEqual(expected);
  });

  it.each([
    // `3` stays in the part, which then has 11 rows.
    ['one of them is in the file', ['3.0,-3'], { added: 1 }],
    ['both are in the file', ['3.00,-3'], { more: ['3.0,1'] }],
    ['both are new', ['10,1', '10.0,2'], { added: 2 }],
    ['both are in the file and changed', ['3,1', '3.0,2'], { more: ['3.0,1'] }],
  ])('is not possible if keys are different texts of one value, and %s', async (_, changed, of) => {
    expect(await update(changed, of)).toBeNull();
  });

  it.each([
    ['a value needs a wider type', ['3,1.5'], {}],
    [
      'the file has another type',
      ['3,1'],
      { now: [COLUMNS[0]!, { ...COLUMNS[1]!, type: 'decimal(18,2)' as const }] },
    ],
    [
      'the configuration sets a type since then',
      ['3,1'],
      { now: [COLUMNS[0]!, { ...COLUMNS[1]!, fixed: true }] },
    ],
    ['much of the file would be at its end', ['1,1', '2,2', '3,3'], {}],
  ])('is not possible if %s', async (_, changed, of) => {
    expect(await update(changed, of)).toBeNull();
  });

  it('reads only columns with a changed value, unless there are new rows', async () => {
    const more = Array.from({ length: 10 }, (_, at) => `${10 + at},${at}`);
    const changedColumns: string[] = [];
    // The text does not fit the type of its column.
    const same = await update(['3,text'], { more, changedColumns });
    expect(same?.values[3]).toEqual({ id: 300n, value: 3n });
    expect(await update(['3,text', '20,20'], { more, changedColumns, added: 1 })).toBeNull();
  });

  it.each([null, ['value']])(
    'copies the bytes of columns without a changed value: %j',
    async (changedColumns) => {
      const columns: readonly PartColumn[] = [
        { alias: 'id', kind: 'integer', type: 'long', fixed: false },
        { alias: 'value', kind: 'integer', type: 'long', fixed: false },
        // A field can have any name.
        { alias: 'new_1', kind: 'string', type: 'string', fixed: false },
      ];
      const connection = await opened;
      const use = await mkdtemp(join(folder, 'use-'));
      const [before, to] = [join(use, 'before.parquet'), join(use, 'after.parquet')];
      const rows = Array.from({ length: 13_000 }, (_, at) => [at, at % 100, `text ${at}`]);
      // Row groups have as few rows as possible.
      const large = { rawBytes: 64 * 2 ** 20 };
      const part = { ...(await partOf('part', rows.map(String), columns)), ...large };
      await convertText(connection, part, { to: before, codec: 'zstd' });
      const changed = [10, 5000, 5001].map((at) => [at, -at, `text ${at}`]);
      const added = Array.from({ length: 50 }, (_, at) => [13_000 + at, 1, 'new']);
      const update = {
        ...{ before, key: ['id'], part: { ...large, rows: 13_050, columns }, changedColumns },
        changes: await partOf('changes', [...changed, ...added].map(String), columns),
      };
      expect(await updateFile(connection, update, { to, codec: 'zstd' })).toMatchObject({ rows: 13_050 });
      const found = [before, to].map((path) => readFileSync(path));
      const [earlier, later] = await Promise.all(found.map(readParquet));
      const expected = [...rows, ...added];
      for (const row of changed) expected[row[0] as number] = row;
      expect(later!.rows.map((row) => Object.values(row))).toEqual(
        expected.map(([id, value, text]) => [BigInt(id!), BigInt(value!), text]),
      );
      // Changes are in two row groups, and the new rows in the last one.
      const isCopied = later!.metadata.row_groups.map(({ columns: chunks }, group) =>
        chunks.map((chunk, column) => {
          const chunkBefore = earlier!.metadata.row_groups[group]!.columns[column]!;
          return bytesOf(found[1]!, chunk).equals(bytesOf(found[0]!, chunkBefore));
        }),
      );
      expect(isCopied).toEqual([
        [true, false, true],
        [true, false, true],
        [true, true, true],
        [false, false, false],
      ]);
    },
  );

  it('has every value of 250 columns', async () => {
    const columns = Array.from({ length: 250 }, (_, at): PartColumn => {
      const isText = at % 3 === 1;
      return {
        alias: `f${at}`,
        kind: isText ? 'string' : 'integer',
        type: isText ? 'string' : 'long',
        fixed: false,
      };
    });
    const connection = await opened;
    const use = await mkdtemp(join(folder, 'use-'));
    const [before, to] = [join(use, 'before.parquet'), join(use, 'after.parquet')];
    const rowOf = (row: number, at: number): number => row * 1000 + at;
    const textOf = (row: number, more = 0): string =>
      columns.map((_, at) => rowOf(row, at) + (at > 0 && at % 120 === 0 ? more : 0)).join(',');
    const part = await partOf(
      'part',
      Array.from({ length: 30 }, (_, row) => textOf(row)),
      columns,
    );
    await convertText(connection, part, { to: before, codec: 'zstd' });
    const changes = await partOf('changes', [textOf(7, 5), textOf(30)], columns);
    const after = { rows: 31, rawBytes: 1e6, columns };
    const update = { before, changes, part: after, key: ['f0'], changedColumns: null };
    expect(await updateFile(connection, update, { to, codec: 'zstd' })).toMatchObject({ rows: 31 });
    const { rows } = await readParquet(readFileSync(to));
    const found = rows.map((row) => columns.map(({ alias }) => String(row[alias])).join(','));
    expect(found).toEqual(Array.from({ length: 31 }, (_, row) => textOf(row, row === 7 ? 5 : 0)));
  });

  it('counts values that do not fit the type of the configuration', async () => {
    const fixed = [COLUMNS[0]!, { ...COLUMNS[1]!, fixed: true }];
    expect(await update(['3,x'], { before: fixed, now: fixed })).toMatchObject({ rows: 10, unfit: [0, 1] });
    // A file that has such values does not say where.
    expect(await update(['3,1'], { before: fixed, now: fixed, more: ['10,x'] })).toBeNull();
  });
});
