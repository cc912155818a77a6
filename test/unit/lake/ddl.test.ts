import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ObjectKey, RunId, UtcSeconds } from '../../../src/core/brands.js';
import type { CsvSettings, LakeSettings } from '../../../src/core/settings.js';
import { Format, noFacts, noteNumber, noteString } from '../../../src/core/value-facts.js';
import { folderOf, inFolder, pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { decodeManifest } from '../../../src/lake/documents/manifest.js';
import { encodePointer } from '../../../src/lake/documents/pointer.js';
import {
  type AliasRules,
  columnAliases,
  plainLower,
  withoutControls,
} from '../../../src/lake/rows/column-aliases.js';
import { type Column, META_COLUMNS } from '../../../src/lake/rows/data-columns.js';
import { type ObjectStore, openStore } from '../../../src/lake/store/index.js';
import {
  clashingResources,
  clashingTables,
  DDL_VIEWS,
  type DdlInput,
  ddlStatements,
  renderDdl,
  tooLongStatements,
  unreadableViews,
} from '../../../src/sql/ddl/statements.js';
import { typeBits } from '../../support/column-types.js';
import { rounds } from '../../support/seeds.js';
import { type PublishOptions, publishRun } from './published.js';

const RUN = '20261121T020000Z-1a2b3c4d' as RunId;
const S3 = {
  url: 's3://lake/acme',
  region: 'eu-central-1',
  endpoint: 'http://127.0.0.1:9000',
  forcePathStyle: true,
};

/** A column whose recorded facts do not rule out any type. */
const column = (name: string, ...types: string[]): Column => ({
  name,
  types: typeBits(types),
  values: { formats: types.includes('string') ? Format.text : 0, whole: 1, fraction: 0 },
});

/** A number as it is, other text as a JSON string. */
const jsonOf = (text: string): string =>
  /^-?[0-9][0-9.e-]*$/.test(text) && !/^[0-9]{4}-/.test(text) ? text : JSON.stringify(text);

/** A column with the facts that a run records about these values. */
function columnOf(name: string, jsonValues: readonly string[]): Column {
  const facts = noFacts();
  const types = jsonValues.map((literal) => {
    if (/^(?:true|false)$/.test(literal)) return 'boolean';
    if (literal === 'null') return 'null';
    if (literal.startsWith('"')) {
      noteString(facts, JSON.parse(literal) as string);
      return 'string';
    }
    return noteNumber(facts, literal) ? 'integer' : 'number';
  });
  return { name, types: typeBits(types), values: facts };
}

let folder: string;
let lake: LakeSettings;
let store: ObjectStore;
let duckdb: DuckDBConnection;
let resources = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-ddl-'));
  // A path with characters that globs and string literals must escape.
  lake = { url: pathToFileURL(join(folder, "a [lake], 100% 'ours'*")).href };
  store = openStore(lake);
  duckdb = await (await DuckDBInstance.create()).connect();
});
afterAll(async () => {
  duckdb?.closeSync();
  store?.close();
  await rm(folder, { recursive: true, force: true });
});

type Rows = readonly (readonly (string | null)[])[];

async function publish(
  columns: readonly Column[],
  rows: Rows,
  more: Partial<PublishOptions> = {},
): Promise<DdlInput> {
  const resource = more.resource ?? `res-${resources++}`;
  const options = { resource, runId: RUN, date: '2026-11-21', columns, parts: [rows], ...more };
  const { pointer } = await publishRun(store, options);
  const manifest = decodeManifest(await store.read(pointer.snapshot), folderOf(pointer.snapshot));
  return { dialect: 'duckdb', lake, resource, pointer, manifest };
}

/** Runs the statements and reads a view. A typed view has no text view below it. */
async function read(input: DdlInput, suffix: string): Promise<unknown[][]> {
  const text = suffix.endsWith('_text');
  for (const { kind, sql } of ddlStatements({ views: DDL_VIEWS, text, ...input }))
    if (kind === 'define') await duckdb.run(sql);
  return select(`SELECT * FROM "${input.resource.replaceAll('-', '_')}${suffix}" ORDER BY "_run_id", 4`);
}

async function select(sql: string): Promise<unknown[][]> {
  return (await duckdb.runAndReadAll(sql)).getRows();
}

const data = (rows: unknown[][]): unknown[][] => rows.map((row) => row.slice(META_COLUMNS.length));

describe('DDL for DuckDB, run over files that the package wrote', () => {
  const columns = [
    column('id', 'string'),
    column('text', 'string', 'null'),
    columnOf('count', ['9007199254740993', '-1', '99999999999999999999']),
    columnOf('hours', ['12.50', '1e21', '3', 'null']),
    column('done', 'boolean'),
    column('mixed', 'integer', 'string'),
    column('nothing', 'null'),
  ];
  const rows: Rows = [
    ['a', '', '9007199254740993', '12.50', 'true', '7', null],
    ['b', null, null, '1e21', null, 'seven', null],
    ['c', 'one\ntwo\r\nthree "quoted", and more\r', '-1', '3', 'false', '', null],
    ['d', 'NULL', '99999999999999999999', null, 'true', '\\N', null],
    ['e', `${'long '.repeat(2_000_000)}ü`, '0', '0', 'false', "it's", null],
  ];

  it('returns every cell as written, and distinguishes nulls from empty strings', async () => {
    expect(data(await read(await publish(columns, rows), '_text'))).toEqual(rows);
  });

  it('reads uncompressed parts with another delimiter', async () => {
    const csv = { compression: 'none', delimiter: '\t' } as const;
    expect(data(await read(await publish(columns, rows.slice(0, 3), { csv }), '_text'))).toEqual(
      rows.slice(0, 3),
    );
  });

  it('uses types where no digit is lost', async () => {
    const input = await publish(columns, rows.slice(0, 4));
    expect(data(await read(input, ''))).toEqual([
      ['a', '', 9007199254740993n, '12.50', true, '7', null],
      ['b', null, null, '1e21', null, 'seven', null],
      ['c', rows[2]![1], -1n, '3', false, '', null],
      ['d', 'NULL', 99999999999999999999n, null, true, '\\N', null],
    ]);
    const rounded = data(await read({ ...input, numbers: 'double' }, ''));
    expect(rounded.map((row) => row[3])).toEqual([12.5, 1e21, 3, null]);
  });

  it.each([
    ['an integer of 64 bits', ['9223372036854775807', '-9223372036854775808'], 'BIGINT', null],
    ['a longer integer', ['9223372036854775808', '-1'], 'HUGEINT', null],
    ['an integer of 38 digits', ['9'.repeat(38)], 'HUGEINT', null],
    ['an integer that no type holds', ['9'.repeat(39)], 'VARCHAR', null],
    ['a decimal', ['-12.50', '7', '0.125'], 'DECIMAL(18,3)', ['-12.500', '7.000', '0.125']],
    ['a long decimal', ['123456789012345678901234567890.12345678'], 'DECIMAL(38,8)', null],
    ['a decimal that no type holds', ['1234567890123456789012345678901.12345678'], 'VARCHAR', null],
    ['a number with an exponent', ['1e21', '1'], 'VARCHAR', null],
    ['a date', ['"2026-02-28"', '"0001-01-01"', 'null'], 'DATE', null],
    [
      'a time with a zone',
      ['"2026-11-21T02:00:00Z"', '"2026-11-21T02:00:00.123456-05:30"', '"9999-12-31T23:59:59Z"'],
      'TIMESTAMP',
      ['2026-11-21 02:00:00', '2026-11-21 07:30:00.123456', '9999-12-31 23:59:59'],
    ],
    ['a time of more digits than a type holds', ['"2026-11-21T02:00:00.1234567Z"'], 'VARCHAR', null],
    ['a date that does not exist', ['"2026-02-29"'], 'VARCHAR', null],
    ['a time without a zone', ['"2026-11-21T02:00:00"'], 'VARCHAR', null],
    ['dates and times', ['"2026-11-21"', '"2026-11-21T02:00:00Z"'], 'VARCHAR', null],
    ['an empty text among times', ['"2026-11-21T02:00:00Z"', '""'], 'VARCHAR', null],
  ])('reads %s exactly', async (_, values, type, shown) => {
    const text = (literal: string) => (literal === 'null' ? null : literal.replaceAll('"', ''));
    const rows = values.map((literal, at) => [String(at), text(literal)]);
    const input = await publish([column('id', 'string'), columnOf('v', values)], rows);
    await read(input, '');
    const view = input.resource.replaceAll('-', '_');
    expect(await select(`SELECT DISTINCT typeof("v") FROM "${view}"`)).toEqual([[type]]);
    expect(await select(`SELECT CAST("v" AS VARCHAR) FROM "${view}" ORDER BY "id"`)).toEqual(
      shown?.map((cell) => [cell]) ?? rows.map(([, cell]) => [cell]),
    );
  });

  it.each([
    ['a decimal with more places', ['12.50'], '0.125'],
    ['a decimal with more digits', ['12.50'], '12345678901234567.5'],
    ['a decimal among integers', ['7'], '7.5'],
    ['an integer beyond 64 bits', ['7'], '9223372036854775808'],
    ['an integer beyond 38 digits', ['9223372036854775808'], '9'.repeat(39)],
    ['an exponent', ['12.50'], '1e-3'],
    ['text among numbers', ['12.50'], 'unknown'],
    ['text among booleans', ['true'], 'yes'],
    ['a time among dates', ['"2026-02-28"'], '2026-03-01T10:00:00Z'],
    ['a time with more digits', ['"2026-02-28T10:00:00Z"'], '2026-03-01T10:00:00.1234567Z'],
    ['a time without a zone', ['"2026-02-28T10:00:00Z"'], '2026-03-01T10:00:00'],
  ])('fails instead of changing a value that appears after it was printed: %s', async (_, seen, later) => {
    const resource = `later-${resources++}`;
    const view = resource.replaceAll('-', '_');
    const typed = [column('id', 'string'), columnOf('v', seen)];
    const first = seen.map((literal, at) => [`a${at}`, literal.replaceAll('"', '')]);
    const printed = await publish(typed, first, { resource });
    for (const suffix of ['_newest_text', '_newest']) await read(printed, suffix);
    const [before] = await select(`SELECT v FROM ${view}_newest`);
    const runId = '20261122T020000Z-00000002' as RunId;
    const rows: Rows = [['z', later]];
    await publish(typed, rows, { resource, runId, date: '2026-11-22' });
    await expect(select(`SELECT v FROM ${view}_newest`)).rejects.toThrow(
      /column "v" has a new value that does not fit its type; print the statements again/,
    );
    // All other values stay readable.
    expect(await select(`SELECT v FROM ${view}_newest WHERE id < 'b'`)).toEqual([before]);
    expect(await select(`SELECT id FROM ${view}_newest ORDER BY id`)).toEqual([['a0'], ['z']]);
    expect(await select(`SELECT v FROM ${view}_newest_text WHERE id = 'z'`)).toEqual([[later]]);
    const printedAgain = await publish([typed[0]!, columnOf('v', [...seen, jsonOf(later)])], rows, {
      ...{ resource, runId, date: '2026-11-22' },
    });
    await read(printedAgain, '_newest');
    const [[shown]] = (await select(`SELECT CAST(v AS VARCHAR) FROM ${view}_newest WHERE id = 'z'`)) as [
      [string],
    ];
    expect(shown.replace(/([.][0-9]*?)0+$/, '$1')).toBe(later);
  });

  it.each([
    ['fewer places', ['12.50'], ['3', '-0.5', '0.10', '1234567890123456']],
    ['zeros after its last place', ['12.50'], ['3.5000']],
    ['more digits than before', ['7'], ['9223372036854775807', '-9223372036854775808']],
    ['another zone and more digits', ['"2026-02-28T10:00:00Z"'], ['2026-03-01T10:00:00.123456+05:30']],
  ])('shows a value that appears after it was printed, if it fits: %s', async (_, seen, later) => {
    const resource = `fits-${resources++}`;
    const typed = [column('id', 'string'), columnOf('v', seen)];
    const rows = later.map((text, at) => [String(at), text]);
    const view = await read(await publish(typed, rows, { resource }), '_newest');
    expect(view.every((row) => row[4] !== null)).toBe(true);
  });

  it('counts the values that do not fit', async () => {
    const input = await publish(columns, rows.slice(0, 4));
    await read(input, '_text');
    const check = ddlStatements({ ...input, text: true }).find(({ kind }) => kind === 'check')!;
    const result = await duckdb.runAndReadAll(check.sql);
    expect(result.getRowObjects()[0]).toMatchObject({ count: 0n, done: 0n, _synced_at: 0n });
    const narrow = { ...columns[2]!, values: { formats: 0, whole: 1, fraction: 0 } };
    const stale = await publish(columns.with(2, narrow), rows.slice(0, 4));
    await read(stale, '_text');
    const again = ddlStatements({ ...stale, text: true }).find(({ kind }) => kind === 'check')!;
    expect((await duckdb.runAndReadAll(again.sql)).getRowObjects()[0]).toMatchObject({ count: 1n });
  });

  it('gives the metadata times a time type', async () => {
    await read(await publish(columns, rows.slice(0, 1), { resource: 'times' }), '');
    expect(
      await select('SELECT "_synced_at" = TIMESTAMP \'2026-11-21 02:00:00\', "_deleted_at" FROM times'),
    ).toEqual([[true, null]]);
  });

  it('keeps masked columns as text, and removes formula escaping from numbers', async () => {
    const csv: Partial<CsvSettings> = { escapeFormulas: true };
    const input = await publish(
      [column('id', 'string'), column('n', 'integer'), column('m', 'integer')],
      [['a', "'-5", 'ab12']],
      {
        csv,
      },
    );
    expect(data(await read({ ...input, masked: ['m'] }, ''))).toEqual([['a', -5n, 'ab12']]);
  });

  it('quotes any field name as a name', async () => {
    const names = [
      'id',
      'ID',
      'dt',
      'run',
      'FileName',
      '',
      'İd',
      `x'); DROP TABLE victim; --`,
      'a"b',
      `'`,
      '`',
      'new\nline',
      'tab\t',
      'nul\0l',
      'ID_2',
      '日本',
      '{}',
      '\\',
    ];
    await duckdb.run('CREATE OR REPLACE TABLE victim AS SELECT 1 AS alive');
    const input = await publish(
      names.map((name) => column(name, 'integer')),
      [names.map((_, at) => String(at))],
    );
    for (const suffix of ['', '_changes'])
      expect(data(await read(input, suffix))).toEqual([names.map((_, at) => BigInt(at))]);
    expect(await select('SELECT alive FROM victim')).toEqual([[1]]);
    const script = renderDdl(ddlStatements(input));
    expect(script).toContain('-- Column "ID" has the name ID_2 here.');
    // The script has the same effect as its statements: no name ends a comment.
    await duckdb.run(script);
    expect(data(await select(`SELECT * FROM "${input.resource.replaceAll('-', '_')}"`))).toEqual([
      names.map((_, at) => BigInt(at)),
    ]);
  });

  it('keeps every name in its place, whatever the fields are called', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 12 }), { minLength: 1, maxLength: 8 }),
        async (names) => {
          const columns = names.map((name) => column(name.toWellFormed(), 'string'));
          const input = await publish(columns, [names.map((_, at) => `v${at}`)]);
          expect(data(await read(input, ''))).toEqual([names.map((_, at) => `v${at}`)]);
        },
      ),
      { numRuns: rounds(6) },
    );
  });

  it('reads the change logs of all published runs, also with fewer columns, and none of a run in progress', async () => {
    const first = '20261120T020000Z-00000001' as RunId;
    const later = '20261122T020000Z-00000003' as RunId;
    const resource = 'growing';
    const one = [column('id', 'string'), column('a', 'string')];
    const two = [...one, column('b', 'integer')];
    await publish(
      one,
      [
        ['x', 'line\nbreak'],
        ['y', ''],
      ],
      { resource, runId: first, date: '2026-11-20' },
    );
    const input = await publish(two, [['x', null, '2']], { resource });
    await publish(two, [['z', 'not yet', '3']], { resource, runId: later, date: '2026-11-22' });
    await store.write(pointerKey(resource), encodePointer(input.pointer));
    expect(data(await read(input, '_changes'))).toEqual([
      ['x', 'line\nbreak', null],
      ['y', '', null],
      ['x', null, 2n],
    ]);
  });

  it('still reads the change logs after a column is added, without that column', async () => {
    const resource = 'widening';
    const one = [column('id', 'string'), column('a', 'string')];
    const rows = [
      ['x', 'line\nbreak "quoted"'],
      ['y', ''],
    ];
    const input = await publish(one, rows, { resource, date: '2026-11-20' });
    const wider = rows.map(([id, a]) => [`${id}2`, a!, '"\n,', '']);
    const runId = '20261122T020000Z-00000002' as RunId;
    await publish([...one, column('b', 'string'), column('c', 'string')], wider, { resource, runId });
    expect(data(await read(input, '_changes'))).toEqual([...rows, ...wider.map((row) => row.slice(0, 2))]);
  });

  it('reads change logs of different compression, and shows the newest row of each key', async () => {
    const resource = 'newest';
    const columns = [column('id', 'string'), column('a', 'string')];
    const gone = (row: readonly (string | null)[]) =>
      row[1] === 'gone' ? ('2026-11-21T02:00:00Z' as UtcSeconds) : null;
    const runs = [
      [
        '20261119T020000Z-00000009',
        'gzip',
        [
          ['x', '1'],
          ['y', '1'],
          ['z', '1'],
        ],
      ],
      [
        '20261120T020000Z-00000001',
        'none',
        [
          ['x', '2'],
          ['z', 'gone'],
        ],
      ],
      ['20261121T020000Z-00000000', 'gzip', [['x', '']]],
    ] as const;
    let input!: DdlInput;
    for (const [runId, compression, rows] of runs) {
      const date = `${runId.slice(0, 4)}-${runId.slice(4, 6)}-${runId.slice(6, 8)}`;
      const options = { resource, runId: runId as RunId, date, csv: { compression }, deletedAt: gone };
      input = await publish(columns, rows, options);
    }
    expect(data(await read(input, '_changes_text')).length).toBe(6);
    const newest = async (more: Partial<DdlInput>) =>
      data(await read({ ...input, ...more }, '_newest')).sort((a, b) =>
        String(a[0]) < String(b[0]) ? -1 : 1,
      );
    expect(await newest({})).toEqual([
      ['x', ''],
      ['y', '1'],
      ['z', 'gone'],
    ]);
    expect(await newest({ deletes: 'drop' })).toEqual([
      ['x', ''],
      ['y', '1'],
    ]);
    const statements = ddlStatements({ ...input, views: ['changes', 'newest'] });
    for (const { sql } of statements) expect(sql).not.toContain('run=2026');
  });

  it('reads the snapshot of a day next to the current one', async () => {
    const resource = 'history';
    const old = await publish([column('id', 'string')], [['old']], {
      resource,
      runId: '20261120T020000Z-00000001' as RunId,
      date: '2026-11-20',
    });
    const input = await publish([column('id', 'string')], [['new']], { resource });
    const day = { date: '2026-11-20', snapshot: old.pointer.snapshot, manifest: old.manifest };
    expect(data(await read({ ...input, days: [day] }, '_on_2026_11_20'))).toEqual([['old']]);
    expect(data(await read({ ...input, days: [day] }, ''))).toEqual([['new']]);
  });

  it.each(['gzip', 'none'] as const)(
    'follows each published run in a session that runs the statements: %s',
    async (compression) => {
      const resource = `followed-${compression}`;
      const csv = { compression };
      const one = [column('id', 'string'), column('a', 'string')];
      const old = { resource, csv, runId: '20261120T020000Z-00000001' as RunId, date: '2026-11-20' };
      const statements = ddlStatements(await publish(one, [['old', 'line\nbreak']], old));
      const runScript = async () => {
        for (const { kind, sql } of statements) if (kind === 'define') await duckdb.run(sql);
      };
      await runScript();
      const rows: Rows = [
        ['new', ''],
        ['quoted', 'a "b"\r\n,'],
      ];
      await publish(one, rows, { resource, csv });
      await runScript();
      expect(data(await select(`SELECT * FROM followed_${compression} ORDER BY id`))).toEqual(rows);
      // A session without the statements has no variable, and shows the run that was the last one.
      await duckdb.run(`RESET VARIABLE worktrack_followed_${compression}`);
      expect(data(await select(`SELECT * FROM followed_${compression}`))).toEqual([['old', 'line\nbreak']]);
      if (compression === 'none') return;
      const later = '20261122T020000Z-00000003' as RunId;
      const wider = [['w', 'a\nb', 'added']];
      await publish([...one, column('b', 'string')], wider, { resource, csv, runId: later });
      await runScript();
      expect(data(await select(`SELECT * FROM followed_${compression}`))).toEqual([['w', 'a\nb']]);
    },
  );

  it('reads a snapshot that has a header only', async () => {
    expect(await read(await publish(columns, [], { parts: [[]] }), '')).toEqual([]);
  });

  /** Names of files of other programs: synchronizers, desktops, editors, a download that is not complete. */
  const FOREIGN = [
    'part-00000-1a2b3c4d (1).csv.gz',
    'part-00000-1a2b3c4d-LAPTOP1.csv.gz',
    'part-00000-1a2b3c4d 2.csv.gz',
    "part-00000-1a2b3c4d (Ann's conflicted copy 2026-11-22).csv.gz",
    'part-00000-1a2b3c4d.sync-conflict-20261122-101500-ABCDEFG.csv.gz',
    '.part-00000-1a2b3c4d.csv.gz.icloud',
    'part-00000-1a2b3c4d.csv.gz.part',
    'part-00000-1a2b3c4d.csv.gz~',
    'part-00000-1A2B3C4D.csv.gz',
    'part-00000-1a2b3c4d-12345678.csv.gz',
    'part-0000a-1a2b3c4d.csv.gz',
    'Copy of part-00000-1a2b3c4d.csv.gz',
    'part-00000-1a2b3c4d.csv.csv.gz',
  ];
  const MANY = 501;

  it.each([
    ['copies of the part', (body: Buffer) => body],
    ['no CSV', () => Buffer.from('no gzip, no CSV')],
  ])('reads no file of another program in a folder: %s', async (_, bodyOf) => {
    const input = await publish([column('id', 'string')], [['a'], ['b']]);
    const { manifest, pointer } = input;
    for (const folder of [folderOf(pointer.snapshot), folderOf(pointer.changes!)]) {
      const body = await store.read(inFolder(folder, 'part-00000-1a2b3c4d.csv.gz'));
      for (const name of FOREIGN) await store.write(inFolder(folder, name), bodyOf(body));
    }
    // Statements for more parts find them by their names.
    const many = { ...manifest, parts: Array.from({ length: MANY }, () => manifest.parts[0]!) };
    const days = [{ date: '2026-11-21', snapshot: pointer.snapshot, manifest: many }];
    for (const suffix of ['', '_text', '_on_2026_11_21', '_changes', '_changes_text', '_newest'])
      expect(data(await read({ ...input, days }, suffix)), suffix).toEqual([['a'], ['b']]);
    expect(await select(`DESCRIBE ${input.resource.replace('-', '_')}_text`)).toHaveLength(4);
  });

  it('reads a part that a purge wrote, whose name is longer', async () => {
    const input = await publish([column('id', 'string')], [['a']]);
    const { manifest, pointer } = input;
    for (const folder of [folderOf(pointer.snapshot), folderOf(pointer.changes!)]) {
      const from = inFolder(folder, 'part-00000-1a2b3c4d.csv.gz');
      await store.write(inFolder(folder, 'part-00000-6920d0f01a2b3c4d.csv.gz'), await store.read(from));
      await store.remove([from]);
    }
    const [part] = manifest.parts;
    const key = part!.key.replace('1a2b3c4d.csv', '6920d0f01a2b3c4d.csv') as ObjectKey;
    const parts = [{ ...part!, key }];
    const many = Array.from({ length: MANY }, () => parts[0]!);
    for (const one of [parts, many]) {
      const day = { date: '2026-11-21', snapshot: pointer.snapshot, manifest: { ...manifest, parts: one } };
      const shown = { ...input, days: [day], views: ['days', 'changes', 'newest'] } as const;
      for (const suffix of ['_on_2026_11_21', '_changes', '_newest'])
        expect(data(await read(shown, suffix))).toEqual([['a']]);
    }
  });

  it('shows how to set up S3, and the folder that the credentials apply to', async () => {
    const input = await publish([column('id', 'string')], [['a']]);
    const script = renderDdl(ddlStatements({ ...input, lake: S3 }));
    expect(script).toContain("ENDPOINT '127.0.0.1:9000'");
    expect(script).toContain('USE_SSL false');
    expect(script).toContain("SCOPE 's3://lake/acme'");
    expect(script).toContain(
      `['s3://lake/acme/${input.resource}/snapshots/dt=2026-11-21/run=${RUN}/part-00000-1a2b3c4d.csv.gz']`,
    );
  });
});

describe('A script for several resources', () => {
  it('contains the S3 setup once, as a comment', async () => {
    const inputs = [await publish([column('id', 'string')], []), await publish([column('id', 'string')], [])];
    const script = renderDdl(inputs.flatMap((input) => ddlStatements({ ...input, lake: S3 })));
    expect(script.match(/LOAD httpfs;/g)).toHaveLength(1);
    expect(script.match(/^-- CREATE OR REPLACE SECRET/gm)).toHaveLength(1);
    expect(script).not.toMatch(/^(?!--).*(INSTALL|SECRET)/m);
    expect(script.match(/^CREATE OR REPLACE VIEW/gm)).toHaveLength(4);
    expect(script).toMatch(/^-- CREATE OR REPLACE PERSISTENT SECRET/m);
  });

  it('connects to the store with statements that run, if it is asked for', async () => {
    const input = await publish([column('id', 'string')], []);
    const script = renderDdl(ddlStatements({ ...input, lake: S3 }), { setup: true });
    expect(script).toMatch(/^INSTALL httpfs; LOAD httpfs; INSTALL aws; LOAD aws;$/m);
    expect(script).toMatch(/^CREATE OR REPLACE SECRET worktrack \(\n {2}TYPE s3,/m);
    // One of the two ways is enough.
    expect(script).toMatch(/^-- CREATE OR REPLACE PERSISTENT SECRET/m);
    expect(script.indexOf('CREATE OR REPLACE SECRET')).toBeLessThan(script.indexOf('CREATE OR REPLACE VIEW'));
    const spark = renderDdl(ddlStatements({ ...input, dialect: 'spark', lake: S3 }), { setup: true });
    expect(spark).toMatch(/^SET fs\.s3a\.endpoint = http:\/\/127\.0\.0\.1:9000;$/m);
    expect(spark).toMatch(/^SET fs\.s3a\.endpoint\.region = /m);
  });

  it('contains only the requested views', async () => {
    const input = await publish([column('id', 'string')], []);
    const script = renderDdl(ddlStatements({ ...input, views: ['changes'] }));
    expect(script.match(/^CREATE OR REPLACE VIEW "\w+"/gm)).toHaveLength(1);
    expect(script).not.toContain('/snapshots/');
  });

  it.each([
    [{}, ['tasks', 'tasks_changes']],
    [{ text: true }, ['tasks_text', 'tasks', 'tasks_changes_text', 'tasks_changes']],
    [{ views: ['current', 'changes', 'newest'] }, ['tasks', 'tasks_changes', 'tasks_newest']],
    [{ views: ['changes'], text: true }, ['tasks_changes_text', 'tasks_changes']],
  ] as const)('defines views as text and of the newest rows only on request: %j', async (request, views) => {
    const input = await publish([column('id', 'string'), column('ID', 'integer')], [['a', '7']], {
      resource: 'tasks',
    });
    for (const dialect of ['duckdb', 'clickhouse'] as const) {
      const script = renderDdl(ddlStatements({ ...input, ...request, dialect }));
      expect([...script.matchAll(/^CREATE OR REPLACE VIEW ["`](\w+)["`]/gm)].map(([, name]) => name)).toEqual(
        views,
      );
      // Once for each view that has no text view.
      const texts = 'text' in request ? 2 : 1;
      expect(script.match(/Column "ID" has the name ID_2 here/g)).toHaveLength(views.length / texts);
    }
    const empty = await (await DuckDBInstance.create()).connect();
    for (const { kind, sql } of ddlStatements({ ...input, ...request }))
      if (kind === 'define') await empty.run(sql);
    for (const view of views) {
      const found = await empty.runAndReadAll(`SELECT CAST("ID_2" AS VARCHAR) FROM ${view}`);
      expect(found.getRows(), view).toEqual([['7']]);
    }
    empty.closeSync();
  });

  it('is not made for resources whose views would have the same name', () => {
    expect(clashingResources(['tasks', 'time-entries', 'time_entries'])).toEqual([
      'time-entries',
      'time_entries',
    ]);
    expect(clashingResources(['tasks', 'tasks-changes'])).toEqual(['tasks', 'tasks-changes']);
    expect(clashingResources(['tasks', 'projects', 'task'])).toBeNull();
  });

  it('a script of tables needs only the names of the resources', () => {
    expect(clashingTables(['time-entries', 'tasks', 'Time_entries'])).toEqual([
      'time-entries',
      'Time_entries',
    ]);
    expect(clashingTables(['tasks', 'tasks-changes', 'tasks_newest'])).toBeNull();
  });
});

describe('DDL for Athena and Spark', () => {
  const hostile = "x`) LOCATION 's3://evil/'; --\\'";
  const make = async (dialect: 'athena' | 'spark', more: Partial<PublishOptions> = {}): Promise<string> => {
    const columns = [
      column('id', 'integer'),
      column('ID', 'string'),
      column('dt', 'string'),
      column(hostile, 'boolean'),
    ];
    const input = await publish(columns, [['1', 'a', 'b', 'true']], {
      resource: `time-entries-${resources++}`,
      ...more,
    });
    return renderDdl(ddlStatements({ ...input, dialect, lake: S3 }));
  };

  it('makes an Athena table of texts over the run, with a typed view', async () => {
    const script = await make('athena');
    expect(script).toContain("ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.OpenCSVSerde'");
    expect(script).toContain("'skip.header.line.count' = '1'");
    expect(script).toContain("'separatorChar' = ','");
    expect(script).toContain("LOCATION 's3://lake/acme/");
    expect(script).toContain(`/run=${RUN}/'`);
    expect(script).toContain('`id_2` string');
    expect(script).toContain(
      'THEN TRY_CAST(NULLIF("id", \'\') AS bigint) ELSE CAST(concat(NULLIF("id", \'\'), ',
    );
    const places = script.matchAll(/CREATE EXTERNAL TABLE `time_entries_\d+_(\w+)`[^;]*LOCATION '([^']*)'/g);
    expect([...places].map(([, name, url]) => [name, url!.replace(/^.*time-entries-\d+/, '')])).toEqual([
      ['text', expect.stringContaining(`/run=${RUN}/`)],
      ['changes_latest', '/'],
      ['changes_files', '/changes/'],
    ]);
    expect(script).not.toContain('MSCK');
    expect(script).toContain("/latest.json'");
    expect(script).toContain('`dt_2` string');
    expect(script).not.toContain("s3://evil/';\n");
    expect(script.match(/`x_*location[a-z0-9_]*` string/g)).toHaveLength(2);
  });

  it.each(['athena', 'trino'] as const)(
    'is refused with the number of line breaks for %s',
    async (dialect) => {
      const rows: Rows = [
        ['a', 'one\ntwo\r\nthree'],
        ['b', 'four\rfive'],
      ];
      const input = await publish([column('id', 'string'), column('text', 'string')], rows);
      const refused = { ...input, dialect, lake: S3 };
      expect(() => ddlStatements(refused)).toThrow(/3 line breaks inside cells.*lineBreaks: escape/);
      expect(unreadableViews(refused)).toEqual(['current', 'changes', 'newest']);
      expect(unreadableViews(input)).toEqual([]);
      // After a change of the setting, only the earlier change logs have some.
      const manifest = {
        ...input.manifest,
        parts: input.manifest.parts.map((part) => ({ ...part, lineBreaks: 0 })),
      };
      expect(unreadableViews({ ...refused, manifest })).toEqual(['changes', 'newest']);
      expect(ddlStatements({ ...refused, manifest, views: ['current'] })).not.toEqual([]);
    },
  );

  it('names statements that are too long for Athena', async () => {
    const columns = Array.from({ length: 1_300 }, (_, at) => columnOf(`amount_${at}`, ['12.50']));
    const input = await publish([column('id', 'string'), ...columns], []);
    const wide = ddlStatements({ ...input, dialect: 'athena', lake: S3, views: ['current'] });
    const view = `CREATE OR REPLACE VIEW "${input.resource.replace('-', '_')}" AS`;
    expect(tooLongStatements('athena', wide)).toEqual([view]);
    expect(tooLongStatements('trino', wide)).toEqual([]);
    const narrow = await publish([column('id', 'string')], []);
    expect(tooLongStatements('athena', ddlStatements({ ...narrow, dialect: 'athena', lake: S3 }))).toEqual(
      [],
    );
  });

  it('does not make Athena statements for a folder', async () => {
    const input = await publish([column('id', 'string')], [['a']]);
    expect(() => ddlStatements({ ...input, dialect: 'athena' })).toThrow('Athena reads only from S3');
  });

  it('makes Spark views that distinguish nulls from empty strings', async () => {
    const script = await make('spark');
    expect(script).toContain("multiLine 'true'");
    expect(script).toContain("emptyValue ''");
    expect(script).toContain("nullValue '\\u0001worktrack-null\\u0001'");
    expect(script).toContain("path 's3a://lake/acme/");
    expect(script).toContain("THEN TRY_CAST(NULLIF(`id`, '') AS BIGINT) ELSE raise_error('");
    expect(script).toContain('`ID_2` STRING');
    // The only backtick of a name is doubled.
    expect(script).toContain("`x``) LOCATION 's3://evil/'; --\\'` STRING");
  });
});

describe('Aliases of columns', () => {
  it('are never equal, and never change when columns are added', () => {
    const rules = fc.constantFrom<AliasRules[]>(
      { toName: plainLower, reserved: ['dt', 'run'] },
      { toName: withoutControls, reserved: [] },
    );
    const names = fc.uniqueArray(
      fc.oneof(fc.string(), fc.constantFrom('id', 'ID', 'Id', 'id_2', 'dt', 'DT', '', 'ä', 'ö')),
    );
    fc.assert(
      fc.property(rules, names, names, (rule, before, added) => {
        const aliases = columnAliases([...before, ...added], rule);
        expect(new Set(aliases.map((alias) => alias.toLowerCase())).size).toBe(aliases.length);
        expect(aliases.slice(0, before.length)).toEqual(columnAliases(before, rule));
        expect(aliases.filter((alias) => rule.reserved.includes(alias) || alias === '')).toEqual([]);
      }),
    );
  });
});
