import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunId } from '../../src/core/brands.js';
import { Format } from '../../src/core/value-facts.js';
import { ddlStatements } from '../../src/lake/ddl/ddl.js';
import { chName, hiveName, sqlName } from '../../src/lake/ddl/quote.js';
import { folderOf } from '../../src/lake/published/layout.js';
import { decodeManifest } from '../../src/lake/published/manifest.js';
import { type Column, typeBits } from '../../src/lake/rows/schema.js';
import { type ObjectStore, openStore } from '../../src/lake/store/index.js';
import { publishRun } from '../unit/lake/published.js';
import { ENGINES, readViews } from './engines.js';

const column = (name: string, types: readonly string[], values: Column['values']): Column => ({
  name,
  types: typeBits(types),
  ...(values === undefined ? {} : { values }),
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
    for (const { dialect } of ENGINES) {
      const input = {
        dialect,
        lake,
        resource: 'tasks',
        pointer,
        manifest,
        views: ['changes', 'newest'],
      } as const;
      const defined = ddlStatements(input).filter(({ kind }) => kind === 'define');
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

  it.each(ENGINES)(
    'fails in $name $version instead of rounding or hiding the value',
    { timeout: 900_000 },
    async (engine) => {
      const quote = { duckdb: sqlName, athena: sqlName, trino: sqlName, spark: hiveName, clickhouse: chName };
      const read = (name: string, columns: readonly string[]) =>
        readViews(engine, statements.get(engine.dialect)!, [
          { name, columns: columns.map(quote[engine.dialect]) },
        ]);
      for (const name of ['amount', 'count', 'at'])
        await expect(read('tasks_newest', ['id', name]), name).rejects.toThrow(/new value that does not fit/);
      const [ids] = await read('tasks_newest', ['id']);
      expect(ids!.rows.flat().sort()).toEqual(['a', 'b', 'c', 'd']);
      const [text] = await read('tasks_newest_text', ['id', 'amount', 'count', 'at']);
      expect(text!.rows.sort()).toEqual([...FIRST, ...LATER]);
    },
  );
});
