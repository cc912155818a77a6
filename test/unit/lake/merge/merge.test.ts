import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../../src/core/brands.js';
import { ConfigurationError } from '../../../../src/core/errors.js';
import type { DeletePolicy } from '../../../../src/core/settings.js';
import { noFacts } from '../../../../src/core/value-facts.js';
import type { Block } from '../../../../src/lake/documents/block-index.js';
import type { PublishedPart } from '../../../../src/lake/documents/manifest.js';
import { type Framing, framingOf } from '../../../../src/lake/part/framing.js';
import { BlockReader, ReadAhead } from '../../../../src/lake/part/reader.js';
import { PartSeries } from '../../../../src/lake/part/series.js';
import { writeRows } from '../../../../src/lake/rows/csv.js';
import { headerCells } from '../../../../src/lake/rows/data-columns.js';
import { isLater, newerRows } from '../../../../src/lake/rows/newer.js';
import { type SortKey, sortKey } from '../../../../src/lake/rows/row.js';
import { shapeOf } from '../../../../src/lake/rows/shapes.js';
import { blocksIn, type KeyRange } from '../../../../src/run/key-ranges.js';
import { adaptRows } from '../../../../src/run/merge/earlier-settings.js';
import { mergeRows } from '../../../../src/run/merge/merge-rows.js';
import { MergeSource } from '../../../../src/run/merge/merge-source.js';
import { MergeCounts } from '../../../../src/run/merge-result.js';
import { findAbsent } from '../../../../src/run/settle/absent-rows.js';
import { rounds } from '../../../support/seeds.js';
import {
  byKey,
  bytes,
  keyOfRow,
  NEW_RUN,
  NEW_TIME,
  OLD_RUN,
  OLD_TIME,
  profileOf,
  type Row,
  readIndex,
  readPart,
  temporaryLake,
  writePart,
} from '../data-plane.js';

const lake = temporaryLake();
const profile = profileOf();
const framing = framingOf(profile.csv);

interface Scenario {
  readonly keyColumns: number;
  /** Data columns in all; a part may have been written with the last one missing. */
  readonly columns: readonly string[];
  readonly before: readonly Row[];
  readonly beforeColumns: number;
  readonly chunks: readonly { readonly rows: readonly Row[]; readonly columns: number }[];
  readonly blockRows: readonly number[];
  readonly range: KeyRange;
  readonly gone: ReadonlySet<SortKey>;
  readonly deletes: DeletePolicy;
  readonly updatedAt: boolean;
}

const VALUES = ['x', 'y', '', null, 'a"b', 'l\nm', ','] as const;
const TIMES = ['1', '2', null] as const;

const keyCell = fc.constantFrom('a', 'b', 'c', 'd', '"', ',', '\n', 'é', 'a\0', 'ab', '0', ';');
const scenario: fc.Arbitrary<Scenario> = fc.integer({ min: 1, max: 2 }).chain((keyColumns) => {
  const key = fc
    .array(keyCell, { minLength: 2, maxLength: 2 })
    .map(([a, b]) => (keyColumns === 1 ? [`${a}${b}`] : [a!, b!]));
  const idOf = (row: Row): SortKey => keyOfRow(row, keyColumns);
  const rows = (live: boolean, columns: number) =>
    fc
      .uniqueArray(
        fc.record({
          runId: fc.constant(live ? NEW_RUN : OLD_RUN),
          syncedAt: fc.constant(live ? NEW_TIME : OLD_TIME),
          deletedAt: live ? fc.constant(null) : fc.constantFrom(null, null, OLD_TIME),
          cells: fc
            .tuple(key, fc.constantFrom(...TIMES), fc.constantFrom(...VALUES))
            .map(([id, time, value]) => [...id, time, value].slice(0, columns)),
        }),
        { selector: idOf, maxLength: 25 },
      )
      .map((list) => list.sort((a, b) => byKey(idOf(a), idOf(b))));
  const all = keyColumns + 2;
  const width = fc.constantFrom(all, all, all - 1);
  const part = (live: boolean) =>
    width.chain((columns) => rows(live, columns).map((list) => ({ rows: list, columns })));
  const bound = fc.option(
    key.map((cells) => sortKey(cells.map(bytes))),
    { freq: 2 },
  );
  return fc
    .record({
      before: part(false),
      chunks: fc.array(part(true), { maxLength: 4 }),
      blockRows: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
      bounds: fc.tuple(bound, bound),
      gone: fc.array(
        key.map((cells) => sortKey(cells.map(bytes))),
        { maxLength: 4 },
      ),
      deletes: fc.constantFrom<DeletePolicy>('mark', 'drop', 'keep'),
      updatedAt: fc.boolean(),
    })
    .map(({ before, bounds: [a, b], gone, ...rest }) => ({
      ...rest,
      keyColumns,
      columns: [...['k', 'l'].slice(0, keyColumns), 'time', 'value'],
      before: before.rows,
      beforeColumns: before.columns,
      range: a !== null && b !== null && a > b ? { from: b, to: a } : { from: a, to: b },
      gone: new Set(gone),
    }));
});

interface Merged {
  readonly snapshot: readonly Row[];
  readonly changes: readonly Row[];
  readonly counts: MergeCounts;
}

/** What a merge must do, on maps. */
function model(given: Scenario): Merged {
  const { keyColumns, columns, range, gone, deletes } = given;
  const width = columns.length;
  const full = (row: Row): Row => ({
    ...row,
    cells: [...row.cells, ...new Array(width - row.cells.length).fill(null)],
  });
  const toMap = (rows: readonly Row[]) => new Map(rows.map((row) => [keyOfRow(row, keyColumns), full(row)]));
  const before = toMap(given.before);
  const chunks = given.chunks.map(({ rows }) => toMap(rows));
  const time = (row: Row) => row.cells[keyColumns];
  const isNewer = (a: Row, b: Row): boolean => given.updatedAt && isLater(time(a), time(b)) === true;
  const keys = [...new Set([before, ...chunks].flatMap((map) => [...map.keys()]))]
    .filter((key) => (range.from === null || key >= range.from) && (range.to === null || key < range.to))
    .sort(byKey);
  const snapshot: Row[] = [];
  const changes: Row[] = [];
  const counts = new MergeCounts();
  for (const key of keys) {
    const old = before.get(key);
    const fetched = chunks.flatMap((chunk) => chunk.get(key) ?? []);
    if (fetched.length === 0) {
      if (!gone.has(key) || deletes === 'keep' || old!.deletedAt !== null) {
        counts.retained++;
        snapshot.push(old!);
        continue;
      }
      const dead = { ...old!, runId: NEW_RUN, deletedAt: NEW_TIME };
      counts.deleted++;
      changes.push(dead);
      if (deletes === 'drop') counts.dropped++;
      else snapshot.push(dead);
      continue;
    }
    counts.fetched += fetched.length;
    counts.duplicates += fetched.length - 1;
    const winner = fetched.reduce((best, row) => (isNewer(best, row) ? best : row));
    const same =
      old !== undefined &&
      old.deletedAt === null &&
      JSON.stringify(old.cells) === JSON.stringify(winner.cells);
    if (old === undefined) {
      counts.inserted++;
    } else if (same || (old.deletedAt === null && isNewer(old, winner))) {
      counts.unchanged++;
      if (isNewer(old, winner)) counts.wentBack++;
      snapshot.push(old);
      continue;
    } else {
      counts.updated++;
    }
    snapshot.push(winner);
    changes.push(winner);
  }
  counts.rows = snapshot.length;
  return { snapshot, changes, counts };
}

interface Run extends Merged {
  readonly parts: readonly PublishedPart[];
  readonly unpacked: number;
}

function counting(count: { unpacked: number }): Framing {
  return {
    ...framing,
    unpack(packed, rawBytes) {
      count.unpacked++;
      return framing.unpack(packed, rawBytes);
    },
  };
}

async function merge(
  given: Scenario,
  output: { readonly maxParts: number; readonly partBytes: number } = { maxParts: 1, partBytes: 1e9 },
): Promise<Run> {
  const { keyColumns, columns, range, gone, deletes, blockRows } = given;
  const all = columns.map((name) => ({ name, types: 0, values: noFacts() }));
  const count = { unpacked: 0 };
  const readAhead = new ReadAhead();
  const open = async (age: number, rows: readonly Row[], width: number): Promise<MergeSource> => {
    const key = lake.newKey();
    await writePart(lake.store, key, rows, { columns: columns.slice(0, width), keyColumns, blockRows });
    const { blocks, columns: written } = await readIndex(lake.store, key);
    const part = { key, blocks: blocksIn(blocks, range), framing: counting(count) };
    return new MergeSource({
      age,
      reader: new BlockReader(lake.store, part, { batchBytes: 200, readAhead }),
      keyColumns,
      delimiter: ',',
      range,
      adapt: adaptRows(
        { columns: written, profile, fingerprint: 'f', shapes: [shapeOf(profile, null)] },
        { columns: all, profile, fingerprint: 'f' },
      ),
    });
  };
  const series = (limits: { readonly maxParts: number; readonly partBytes: number }) =>
    new PartSeries(lake.store, {
      framing,
      header: writeRows([headerCells(all)], ','),
      columns: columns.length,
      partKey: () => lake.newKey(),
      ...limits,
    });
  const snapshot = series(output);
  const changes = series({ maxParts: 1, partBytes: 1e9 });
  const counts = await mergeRows({
    sources: [
      await open(0, given.before, given.beforeColumns),
      ...(await Promise.all(given.chunks.map((chunk, at) => open(at + 1, chunk.rows, chunk.columns)))),
    ],
    snapshot,
    changes,
    gone,
    deletes,
    rollback: null,
    runId: NEW_RUN,
    deletedAt: NEW_TIME,
    delimiter: ',',
    isNewer: given.updatedAt ? newerRows(keyColumns, profileOf().csv) : null,
  });
  const parts = await snapshot.finish();
  const read = async (keys: readonly ObjectKey[]) =>
    (await Promise.all(keys.map((key) => readPart(lake.store, key)))).flat();
  return {
    parts,
    counts,
    snapshot: await read(parts.map(({ key }) => key)),
    changes: await read((await changes.finish()).map(({ key }) => key)),
    unpacked: count.unpacked,
  };
}

const row = (key: string, value: string | null, more: Partial<Row> = {}): Row => ({
  runId: OLD_RUN,
  syncedAt: OLD_TIME,
  deletedAt: null,
  cells: [key, value],
  ...more,
});
const fetched = (key: string, value: string | null): Row =>
  row(key, value, { runId: NEW_RUN, syncedAt: NEW_TIME });
const letters = (from: string, to: string, make: (key: string) => Row): Row[] => {
  const rows: Row[] = [];
  for (let code = from.charCodeAt(0); code <= to.charCodeAt(0); code++)
    rows.push(make(String.fromCharCode(code)));
  return rows;
};
const plainScenario = (more: Partial<Scenario>): Scenario => ({
  keyColumns: 1,
  columns: ['k', 'value'],
  before: [],
  beforeColumns: 2,
  chunks: [],
  blockRows: [3],
  range: { from: null, to: null },
  gone: new Set(),
  deletes: 'mark',
  updatedAt: false,
  ...more,
});

describe('A merge', () => {
  it('gives the rows, change log and counts of a simple model on maps', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (given) => {
        const { snapshot, changes, counts } = await merge(given);
        expect({ snapshot, changes, counts }).toEqual(model(given));
      }),
      { numRuns: rounds(25) },
    );
  });

  it('gives the same rows over adjacent ranges as over all keys together', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, fc.constantFrom('a', 'b', 'c', 'é'), async (given, middle) => {
        const at = middle as SortKey;
        const whole = await merge({ ...given, range: { from: null, to: null } });
        const left = await merge({ ...given, range: { from: null, to: at } });
        const right = await merge({ ...given, range: { from: at, to: null } });
        expect([...left.snapshot, ...right.snapshot]).toEqual(whole.snapshot);
        expect([...left.changes, ...right.changes]).toEqual(whole.changes);
        for (const name of Object.keys(whole.counts) as (keyof MergeCounts)[]) {
          expect(left.counts[name] + right.counts[name], name).toBe(whole.counts[name]);
        }
      }),
      { numRuns: rounds(8) },
    );
  });

  it('copies blocks of the snapshot and of chunks without unpacking them if no other source has keys in their range', async () => {
    const before = letters('a', 'l', (key) => row(key, 'old'));
    const chunk = letters('m', 'u', (key) => fetched(key, 'new'));
    const run = await merge(plainScenario({ before, chunks: [{ rows: chunk, columns: 2 }] }));
    expect(run.unpacked).toBe(0);
    expect(run.snapshot).toEqual([...before, ...chunk]);
    expect(run.changes).toEqual(chunk);
    expect((await readIndex(lake.store, run.parts[0]!.key)).blocks.map(({ rows }) => rows)).toEqual([
      3, 3, 3, 3, 3, 3, 3,
    ]);
  });

  it('A merge of a snapshot alone gives the same bytes', async () => {
    const before = letters('a', 'k', (key) => row(key, key));
    const run = await merge(plainScenario({ before }));
    const source = await writePart(lake.store, lake.newKey(), before, { columns: ['k', 'value'] });
    expect(run.parts[0]).toMatchObject({ sha256: source.sha256, bytes: source.bytes, rows: source.rows });
    expect(run.unpacked).toBe(0);
  });

  it('unpacks only the blocks that contain a change', async () => {
    const before = letters('a', 'l', (key) => row(key, 'old'));
    const run = await merge(plainScenario({ before, chunks: [{ rows: [fetched('e', 'new')], columns: 2 }] }));
    // The block d-f, and the chunk's own.
    expect(run.unpacked).toBe(2);
    expect(run.counts).toMatchObject({ updated: 1, retained: 11, rows: 12 });
  });

  it('unpacks only the blocks that contain a deleted row', async () => {
    const before = letters('a', 'l', (key) => row(key, 'old'));
    const run = await merge(plainScenario({ before, gone: new Set(['h' as SortKey, 'zz' as SortKey]) }));
    expect(run.unpacked).toBe(1);
    expect(run.counts).toMatchObject({ deleted: 1, retained: 11, rows: 12 });
    expect(run.changes).toEqual([row('h', 'old', { runId: NEW_RUN, deletedAt: NEW_TIME })]);
  });

  it('copies no block whose rows lack a current column', async () => {
    const before = [row('a', null), row('b', null)].map((old) => ({ ...old, cells: old.cells.slice(0, 1) }));
    const run = await merge(plainScenario({ before, beforeColumns: 1 }));
    expect(run.snapshot).toEqual([row('a', null), row('b', null)]);
    expect(run.unpacked).toBe(1);
  });

  it('lets an unchanged row keep its run and its time', async () => {
    const run = await merge(
      plainScenario({ before: [row('a', '')], chunks: [{ rows: [fetched('a', '')], columns: 2 }] }),
    );
    expect(run.snapshot).toEqual([row('a', '')]);
    expect(run.changes).toEqual([]);
    expect(run.counts).toEqual({ ...new MergeCounts(), fetched: 1, unchanged: 1, rows: 1 });
  });

  it('treats null and the empty string as different values', async () => {
    const run = await merge(
      plainScenario({ before: [row('a', '')], chunks: [{ rows: [fetched('a', null)], columns: 2 }] }),
    );
    expect(run.counts.updated).toBe(1);
    expect(run.snapshot).toEqual([fetched('a', null)]);
  });

  it('restores a tombstone whose record exists again, even if its values are the same', async () => {
    const dead = row('a', 'x', { deletedAt: OLD_TIME });
    const run = await merge(
      plainScenario({ before: [dead], chunks: [{ rows: [fetched('a', 'x')], columns: 2 }] }),
    );
    expect(run.snapshot).toEqual([fetched('a', 'x')]);
    expect(run.changes).toEqual([fetched('a', 'x')]);
    expect(run.counts.updated).toBe(1);
  });

  it.each<[DeletePolicy, number, number]>([
    ['mark', 1, 1],
    ['drop', 0, 1],
    ['keep', 1, 0],
  ])(
    'A merge with deletes: %s keeps %i rows of a deleted record, and logs %i',
    async (deletes, rows, logged) => {
      const run = await merge(
        plainScenario({ before: [row('a', 'x')], gone: new Set(['a' as SortKey]), deletes }),
      );
      expect(run.snapshot).toHaveLength(rows);
      expect(run.changes).toHaveLength(logged);
      if (deletes === 'keep') expect(run.snapshot).toEqual([row('a', 'x')]);
    },
  );

  it('does not delete a fetched row, nor a tombstone', async () => {
    const before = [row('a', 'x'), row('b', 'x', { deletedAt: OLD_TIME })];
    const gone = new Set(['a', 'b'] as SortKey[]);
    const run = await merge(
      plainScenario({ before, gone, chunks: [{ rows: [fetched('a', 'x')], columns: 2 }] }),
    );
    expect(run.snapshot).toEqual(before);
    expect(run.counts).toMatchObject({ unchanged: 1, retained: 1, deleted: 0 });
  });

  it('A merge of no sources writes nothing', async () => {
    const run = await merge(plainScenario({ chunks: [{ rows: [], columns: 2 }] }));
    expect(run).toMatchObject({ parts: [], snapshot: [], changes: [], counts: new MergeCounts() });
  });

  it('splits what it writes at the wanted size, into no more parts than allowed', async () => {
    const chunk = letters('A', 'z', (key) => fetched(key, 'x'.repeat(100)));
    const given = plainScenario({ chunks: [{ rows: chunk, columns: 2 }] });
    const bytesOf = (await merge(given)).parts[0]!.rawBytes;
    const split = await merge(given, { maxParts: 4, partBytes: Math.ceil(bytesOf / 4) });
    expect(split.parts.length).toBeGreaterThan(2);
    expect(split.parts.length).toBeLessThanOrEqual(4);
    expect(split.snapshot).toEqual(chunk);
    const capped = await merge(given, { maxParts: 2, partBytes: 1 });
    expect(capped.parts).toHaveLength(2);
    expect(capped.snapshot).toEqual(chunk);
  });

  it.each([
    { index: { last: 'z' }, range: { from: 'm', to: null } },
    { index: { last: 'z' }, range: { from: null, to: null } },
    { index: { first: 'A' }, range: { from: null, to: null } },
    { index: { first: 'A' }, range: { from: null, to: 'a' } },
  ])('throws an error if an index names keys that its block does not have: %j', async ({ index, range }) => {
    const key = lake.newKey();
    await writePart(lake.store, key, [row('a', 'x'), row('b', 'x')], { columns: ['k', 'value'] });
    const { blocks } = await readIndex(lake.store, key);
    const wrong = blocks.map((block) => ({ ...block, ...(index as object as Partial<Block>) }));
    const source = new MergeSource({
      age: 0,
      reader: new BlockReader(lake.store, { key, blocks: wrong, framing }),
      keyColumns: 1,
      delimiter: ',',
      range: range as KeyRange,
      adapt: (text) => text,
    });
    const reading = findAbsent([source], { note: null, isEligible: () => true }, () => {});
    await expect(reading).rejects.toThrow(
      `the block at byte ${blocks[0]!.offset} does not begin and end with the keys of its index`,
    );
  });
});

describe('Rows of another profile', () => {
  const columns = ['k', 'v', 'w'].map((name) => ({ name, types: 0, values: noFacts() }));
  const then = profileOf({ key: ['k'], csv: { delimiter: ';' } });
  const adapt = (today: typeof profile, text: string, written = { columns: 3, profile: then }) =>
    adaptRows(
      { ...written, fingerprint: 'then', shapes: [shapeOf(written.profile, null)] },
      { columns, profile: today, fingerprint: 'now' },
    )!(bytes(text) as never);
  const meta = `${OLD_RUN};${OLD_TIME};;`;

  it('are rewritten with the current delimiter and rules, and with columns added since', () => {
    const today = profileOf({ csv: { escapeFormulas: true } });
    expect(adapt(today, `${meta}1;"=a;b"\n`, { columns: 2, profile: then })).toBe(
      `${OLD_RUN},${OLD_TIME},,1,'=a;b,\n`,
    );
    expect(adapt(today, `${meta}1;"";"a,b"\n`)).toBe(`${OLD_RUN},${OLD_TIME},,1,"","a,b"\n`);
  });

  it('get escaped line breaks, or lose the escapes, when the setting changes', () => {
    const keep = profileOf({ key: ['k'] });
    const escaping = profileOf({ key: ['k'], csv: { lineBreaks: 'escape' } });
    const plain = `${OLD_RUN},${OLD_TIME},,1,"a\n\\","{""x"":""y\\n""}"\n`;
    const escaped = `${OLD_RUN},${OLD_TIME},,1,a\\n\\\\,"{""x"":""y\\n""}"\n`;
    expect(adapt(escaping, plain, { columns: 3, profile: keep })).toBe(escaped);
    expect(adapt(keep, escaped, { columns: 3, profile: escaping })).toBe(plain);
  });

  it('get the id of the run that gives them a new value, and keep theirs if only quotes change', () => {
    const masked = profileOf({ key: ['k'], columns: { mask: { w: 'redact' } } });
    const restate = (text: string) =>
      adaptRows(
        { columns: 3, profile: then, fingerprint: 'then', shapes: [shapeOf(then, null)] },
        { columns, profile: masked, fingerprint: 'now' },
        NEW_RUN,
      )!(bytes(text) as never);
    expect(restate(`${meta}1;a; w\n`)).toBe(`${NEW_RUN},${OLD_TIME},,1,a,[redacted]\n`);
    expect(restate(`${meta}1; a;\n`)).toBe(`${OLD_RUN},${OLD_TIME},,1," a",\n`);
  });

  it('cannot be escaped if that changes the text of a key', () => {
    const keep = profileOf({ key: ['k'] });
    const escaping = profileOf({ key: ['k'], csv: { lineBreaks: 'escape' } });
    const row = `${OLD_RUN},${OLD_TIME},,"secret\n1",a,b\n`;
    const attempt = () => adapt(escaping, row, { columns: 3, profile: keep });
    expect(attempt).toThrow(ConfigurationError);
    expect(attempt).toThrow(
      /the key \(k\) has a backslash or a line break.*`csv.lineBreaks` or .* cannot change/,
    );
    expect(attempt).not.toThrow(/secret/);
  });

  it('rows of an earlier version get quotes around cells with white space at an end', () => {
    expect(adapt(profileOf({}), `${meta}1; a;b\t\n`)).toBe(`${OLD_RUN},${OLD_TIME},,1," a","b\t"\n`);
  });

  it('lose the values of excluded columns, but keep the columns', () => {
    const today = profileOf({ key: ['k'], columns: { exclude: ['v', 'k'] } });
    expect(adapt(today, `${meta}1;secret;x\n`)).toBe(`${OLD_RUN},${OLD_TIME},,1,,x\n`);
  });

  it('are masked where a mask was added, except nulls', () => {
    const today = profileOf({ key: ['k'], columns: { mask: { v: 'redact', w: 'redact' } } });
    expect(adapt(today, `${meta}1;secret;\n`)).toBe(`${OLD_RUN},${OLD_TIME},,1,[redacted],\n`);
  });

  it('are not masked or escaped a second time', () => {
    const masked = profileOf({ key: ['k'], csv: { lineBreaks: 'escape' }, columns: { mask: { v: 'hash' } } });
    const today = profileOf({
      key: ['k'],
      csv: { lineBreaks: 'escape' },
      columns: { mask: { v: 'hash' }, exclude: ['x'] },
    });
    const text = `${OLD_RUN},${OLD_TIME},,1,5e884898,a\\\\nb\n`;
    expect(adapt(today, text, { columns: 3, profile: masked })).toBe(text);
  });

  it('are redacted where the mask changed from hash to redact', () => {
    const hashed = profileOf({ key: ['k'], columns: { mask: { v: 'hash' } } });
    const today = profileOf({ key: ['k'], columns: { mask: { v: 'redact' } } });
    expect(adapt(today, `${OLD_RUN},${OLD_TIME},,1,5e884898,x\n`, { columns: 3, profile: hashed })).toBe(
      `${OLD_RUN},${OLD_TIME},,1,[redacted],x\n`,
    );
  });

  it('stay tombstones', () => {
    const dead = `${OLD_RUN};${OLD_TIME};${NEW_TIME};1;x;y\n`;
    expect(adapt(profileOf({ key: ['k'] }), dead)).toBe(dead.replaceAll(';', ','));
  });
});
