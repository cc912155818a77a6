import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseSettings } from '../../src/config/index.js';
import type { RunId } from '../../src/core/brands.js';
import { Format } from '../../src/core/value-facts.js';
import { folderOf } from '../../src/lake/documents/lake-layout.js';
import { decodeManifest } from '../../src/lake/documents/manifest.js';
import type { Column } from '../../src/lake/rows/data-columns.js';
import { openStore } from '../../src/lake/store/index.js';
import { runCommand } from '../../src/servers/run-command.js';
import { ddlStatements, renderDdl } from '../../src/sql/ddl/statements.js';
import { queryLake } from '../../src/sql/query/query-lake.js';
import { typeBits } from '../support/column-types.js';
import { codeBlocks, pageAt } from '../support/docs.js';
import { findPythonPackage } from '../support/python-packages.js';
import { publishRun } from '../unit/lake/published.js';

/** The versions in the tables of the page. */
const REQUIREMENTS = ['duckdb==2.0.1', 'pandas==3.1.1', 'polars==2.1.0', 'pyarrow==26.0.1', 'pytz==2026.6'];

const column = (name: string, types: readonly string[], values: Column['values']): Column => ({
  name,
  types: typeBits(types),
  values,
});
const COLUMNS: readonly Column[] = [
  column('id', ['string'], { formats: Format.text, whole: 0, fraction: 0 }),
  column('number', ['integer'], { formats: 0, whole: 16, fraction: 0 }),
  column('long', ['integer'], { formats: Format.wide, whole: 38, fraction: 0 }),
  column('price', ['number'], { formats: 0, whole: 16, fraction: 2 }),
  column('at', ['string'], { formats: Format.micros, whole: 0, fraction: 0 }),
  column('done', ['boolean'], { formats: 0, whole: 0, fraction: 0 }),
];
const ROWS = [
  ['NA', '9007199254740993', '18446744073709551615', '12.50', '2026-11-21T02:00:00.123456Z', 'true'],
  ['', '-9223372036854775808', '9'.repeat(38), '9007199254740993.01', '1969-12-31T23:59:59.999999Z', 'false'],
  ['null', null, null, null, null, null],
];
const EXACT = Object.fromEntries(COLUMNS.map(({ name }, at) => [name, ROWS.map((row) => row[at] ?? null)]));

describe('the ways into Python that the page on queries shows', () => {
  let folder: string;
  let found: Record<string, Record<string, (string | null)[]>>;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-frames-'));
    const lake = { url: pathToFileURL(join(folder, 'lake')).href };
    const store = openStore(lake);
    const runId = '20261120T020000Z-00000001' as RunId;
    const run = { resource: 'tasks', runId, date: '2026-11-20', columns: COLUMNS, parts: [ROWS] };
    const { pointer } = await publishRun(store, run);
    const manifest = decodeManifest(await store.read(pointer.snapshot), folderOf(pointer.snapshot));
    store.close();
    const statements = ddlStatements({ dialect: 'duckdb', lake, resource: 'tasks', pointer, manifest });
    await writeFile(join(folder, 'lake.sql'), renderDdl(statements, { setup: true }));
    const yaml = `connections: { acme: { baseUrl: "http://127.0.0.1:9", apiKey: { env: KEY }, lake: { url: "${lake.url}" }, resources: [tasks] } }`;
    const [connection] = parseSettings(yaml, 'worktrack.yaml').connections;
    const result = await queryLake(connection!, 'FROM tasks', { cacheFolder: join(folder, 'cache') });
    await result.writeParquet(join(folder, 'tasks.parquet'));

    const packages = await findPythonPackage({ name: 'frames', version: '1', requirements: REQUIREMENTS });
    if ('problem' in packages) throw new Error(packages.problem);
    const [shown] = codeBlocks([pageAt('docs/how-to/query.md')]).filter(
      ({ language }) => language === 'python',
    );
    const script = fileURLToPath(new URL('frames.py', import.meta.url));
    const env = { ...process.env, PYTHONPATH: packages.folder, PYTHONNOUSERSITE: '1', TZ: 'UTC' };
    const code = `import os; os.chdir(${JSON.stringify(folder)})\n${shown!.text}`;
    found = JSON.parse(
      await runCommand('python3', [script, code], { env, signal: AbortSignal.timeout(120_000) }),
    ) as typeof found;
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  it.each(['Arrow', 'pandas', 'polars', 'pandas, Parquet', 'polars, Parquet'])(
    'keep every value: %s',
    (way) => {
      const values = found[way]!;
      for (const [name, cells] of Object.entries(EXACT)) expect(values[name], name).toEqual(cells);
    },
  );

  it('round with .df(), as the page says', () => {
    expect(found.df!.long).not.toEqual(EXACT.long);
    expect(found.df!.price).not.toEqual(EXACT.price);
  });
});
