import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { RunId } from '../../src/core/brands.js';
import { Format } from '../../src/core/value-facts.js';
import { folderOf } from '../../src/lake/documents/lake-layout.js';
import { decodeManifest } from '../../src/lake/documents/manifest.js';
import type { Column } from '../../src/lake/rows/data-columns.js';
import { type ObjectStore, openStore } from '../../src/lake/store/index.js';
import { ddlStatements } from '../../src/sql/ddl/statements.js';
import { typeBits } from '../support/column-types.js';
import { publishRun } from '../unit/lake/published.js';
import { QUOTE } from './compare.js';
import { ENGINES } from './engines.js';
import { type ReadResult, startSession } from './session.js';

/** Trino reads CSV files only from S3; its casts are those of the others. */
const READERS = ENGINES.flatMap((engine) =>
  engine.reads.includes('csv') && engine.dialect !== null && engine.dialect !== 'trino'
    ? [{ engine, title: engine.title, dialect: engine.dialect }]
    : [],
);

const column = (name: string, types: readonly string[], values: Column['values']): Column => ({
  name,
  types: typeBits(types),
  values,
});
const COLUMNS: readonly Column[] = [
  column('id', ['string'], { formats: Format.text, whole: 0, fraction: 0 }),
  column('amount', ['number'], { formats: 0, whole: 2, fraction: 2 }),
  column('count', ['integer'], { formats: 0, whole: 1, fraction: 0 }),
  column('at', ['string'], { formats: Format.millis, whole: 0, fraction: 0 }),
];
const FIRST = [
  ['a', '12.50', '7', '2026-11-20T10:00:00Z'],
  ['b', '-0.5', null, null],
];
const LATER = [
  ['c', '0.125', '9223372036854775808', '2026-11-21T10:00:00.1234567Z'],
  ['d', '0.500', '9223372036854775807', '2026-11-21T10:00:00.123Z'],
];

describe('A typed view that was printed before a value appeared', () => {
  let folder: string;
  let store: ObjectStore;
  const statements = new Map<string, string[]>();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-later-'));
    const lake = { url: pathToFileURL(folder).href };
    store = openStore(lake);
    const publish = (runId: string, date: string, rows: typeof FIRST) =>
      publishRun(store, { resource: 'tasks', runId: runId as RunId, date, columns: COLUMNS, parts: [rows] });
    const { pointer } = await publish('20261120T020000Z-00000001', '2026-11-20', FIRST);
    const manifest = decodeManifest(await store.read(pointer.snapshot), folderOf(pointer.snapshot));
    for (const dialect of new Set(READERS.map((reader) => reader.dialect))) {
      const input = {
        dialect,
        lake,
        resource: 'tasks',
        pointer,
        manifest,
        views: ['changes', 'newest'],
      } as const;
      const all = [true, false].flatMap((text) => ddlStatements({ ...input, text }));
      const defined = all.filter(({ kind }) => kind === 'define');
      statements.set(
        dialect,
        defined.map(({ sql }) => sql),
      );
    }
    await publish('20261121T020000Z-00000002', '2026-11-21', LATER);
  });
  afterAll(async () => {
    store?.close();
    await rm(folder, { recursive: true, force: true });
  });

  it.each(READERS)(
    'fails in $title instead of rounding or hiding the value',
    { timeout: 900_000 },
    async ({ engine, dialect }) => {
      const session = await startSession(engine, inject('servers'));
      const read = async (view: string, columns: readonly string[]): Promise<ReadResult> => {
        const quote = QUOTE[dialect];
        const job = {
          mode: 'csv',
          statements: statements.get(dialect)!,
          reads: [{ from: quote(view), columns: columns.map(quote) }],
        } as const;
        return (await session.run(job))[0]!;
      };
      try {
        for (const name of ['amount', 'count', 'at'])
          expect(await read('tasks_newest', ['id', name]), name).toEqual({
            error: expect.stringMatching(/new value that does not fit/),
          });
        const ids = await read('tasks_newest', ['id']);
        expect('rows' in ids && ids.rows.flat().sort()).toEqual(['a', 'b', 'c', 'd']);
        const text = await read('tasks_newest_text', ['id', 'amount', 'count', 'at']);
        expect('rows' in text && text.rows.sort()).toEqual([...FIRST, ...LATER]);
      } finally {
        await session.stop();
      }
    },
  );
});
