import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExportResult } from '../../../src/core/contract/index.js';
import { folderOf } from '../../../src/lake/documents/lake-layout.js';
import { decodeManifest } from '../../../src/lake/documents/manifest.js';
import { Duck } from '../../support/duckdb.js';
import { writeFolderConfig } from '../../support/folder-config.js';
import { assertCellsEqual, type Escapes, expectedCells, restored } from '../../support/oracle.js';
import { runCommand } from '../../support/processes.js';
import { type ReadTree, readPointer, readSnapshot } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

type Cells = ReadonlyMap<string, string | null>;
type Cell = string | null;

/** What a set of CSV options guarantees for the values of `tasks`. */
interface Variant {
  readonly name: string;
  readonly yaml: string;
  /** Separator in a flattened column's name. */
  readonly separator?: string;
  /** The expected cell by column and plain value; `undefined` for a column that must be absent. */
  readonly cell?: (column: string, cell: Cell) => Cell | undefined;
  /** The escapes that a reader has to undo. */
  readonly escapes?: Escapes;
  /** Text that must occur neither in a part nor in a cell. */
  readonly never?: RegExp;
  readonly delimiter?: string;
  readonly extension?: string;
  readonly parts?: number;
}

const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex');
const mapped = (cell: Cell, to: (text: string) => string): Cell => (cell === null ? null : to(cell));
const FORMULA = /^[=+\-@\t\r]/;
const ESCAPED = { lineBreaks: 'escape' } as const;

const VARIANTS: readonly Variant[] = [
  { name: 'semicolon', yaml: 'csv: { delimiter: ";" }', delimiter: ';' },
  { name: 'plain', yaml: 'csv: { compression: none }', extension: '.csv' },
  { name: 'escaped', yaml: 'csv: { lineBreaks: escape }', escapes: ESCAPED, never: /[\n\r]/ },
  {
    name: 'guarded',
    yaml: 'csv: { escapeFormulas: true }',
    escapes: { escapeFormulas: true },
    never: FORMULA,
  },
  { name: 'flat', yaml: 'csv: { nested: flatten, separator: "__" }', separator: '__' },
  { name: 'parts', yaml: 'csv: { partSize: 16KiB }', parts: 4 },
  {
    name: 'included',
    yaml: 'columns: { include: [title, done, ledgerNumber] }',
    cell: (column, cell) => (['id', 'title', 'done', 'ledgerNumber'].includes(column) ? cell : undefined),
  },
  {
    name: 'excluded',
    yaml: 'columns: { exclude: [title, nested] }',
    cell: (column, cell) => (['title', 'nested'].includes(column) ? undefined : cell),
  },
  {
    name: 'masked',
    yaml: 'columns: { mask: { title: hash, ledgerNumber: hash, assigneeId: redact } }',
    cell: (column, cell) => {
      if (column === 'assigneeId') return mapped(cell, () => '[redacted]');
      return ['title', 'ledgerNumber'].includes(column) ? mapped(cell, sha256) : cell;
    },
  },
  {
    name: 'together',
    yaml:
      'csv: { delimiter: "|", compression: none, nested: flatten, lineBreaks: escape, escapeFormulas: true, partSize: 16KiB }, ' +
      'columns: { exclude: [note], mask: { nested: redact, assigneeId: hash } }',
    separator: '.',
    delimiter: '|',
    extension: '.csv',
    parts: 4,
    escapes: { ...ESCAPED, escapeFormulas: true },
    never: /[\n\r]|^[=+\-@\t]/,
    cell: (column, cell) => {
      if (column === 'note') return undefined;
      if (/^nested(\.|$)/.test(column)) return mapped(cell, () => '[redacted]');
      return column === 'assigneeId' ? mapped(cell, sha256) : cell;
    },
  },
];

describe('CSV options, after an export and an increment, as DuckDB reads the files', () => {
  let stack: Stack;
  let duck: Duck;
  let increment: ExportResult;
  /** The records that the first run read. */
  let before: readonly string[];
  let changed: Set<string>;
  const records = () => stack.simulator.admin.records('tasks', 'listed');
  const idOf = (text: string): string => (JSON.parse(text) as { id: string }).id;

  beforeAll(async () => {
    const resources = VARIANTS.map(({ name, yaml }) => `\n      - { name: ${name}, path: tasks, ${yaml} }`);
    stack = await startStack({
      simulator: { seed: 51, awkwardEvery: 6, counts: { tasks: 1000 } },
      resources: resources.join(''),
    });
    await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
    const { admin } = stack.simulator;
    const ids = records().map(idOf);
    before = records();
    changed = new Set(admin.addField('tasks', 'ledgerNumber', '1', { count: 5, pick: 'spread' }));
    const change = (at: number, fields: string): void => {
      admin.update('tasks', ids[at]!, fields);
      changed.add(ids[at]!);
    };
    change(11, '{"title":"","note":"","ledgerNumber":9007199254740993}');
    change(12, '{"title":null,"note":null,"ledgerNumber":-9007199254740995}');
    change(
      13,
      '{"ledgerNumber":2,"title":"-1;\\"|\\",\\\\n\\n\\r\\\\","nested":{"a":{"b":"=x\\n"},"text":"","none":null}}',
    );
    changed.add(admin.create('tasks', '{"title":"@new","assigneeId":"","ledgerNumber":0}'));
    increment = await stack.export();
    expect(increment.outcome).toBe('published');

    const { code, stdout, stderr } = await runCommand(stack, [
      'ddl',
      '--text',
      '--config',
      await writeFolderConfig(stack),
    ]);
    expect(code, stderr).toBe(0);
    duck = await Duck.open();
    await duck.run(stdout);
  });
  afterAll(async () => {
    duck?.close();
    await stack?.stop();
  });

  /** The expected cells of a record, before escaping. */
  function promised({ separator, cell }: Variant, record: string): Cells {
    const cells = new Map<string, Cell>();
    for (const [column, value] of expectedCells(record, separator ?? null)) {
      const wanted = cell === undefined ? value : cell(column, value);
      if (wanted !== undefined) cells.set(column, wanted);
    }
    return cells;
  }

  /** The names in the header, with line breaks restored. */
  async function namesOf({ name, escapes = {} }: Variant): Promise<string[]> {
    const { header } = await readSnapshot(stack.store, name);
    const { lineBreaks = 'keep' } = escapes;
    if (lineBreaks === 'escape') expect(header.join()).not.toMatch(/[\n\r]/);
    return header.map((one) => restored(one, { lineBreaks }));
  }

  function assertRows(variant: Variant, rows: ReadTree['rows'], wanted: readonly string[]): void {
    const byId = new Map(rows.map((row) => [row.id, row]));
    expect(byId.size).toBe(rows.length);
    expect([...byId.keys()].sort()).toEqual(wanted.map(idOf).sort());
    for (const record of wanted) {
      const row = byId.get(idOf(record))!;
      const values: Record<string, Cell> = Object.create(null);
      for (const [name, found] of Object.entries(row)) {
        if (found !== null && variant.never !== undefined) expect(found).not.toMatch(variant.never);
        values[name] = mapped(found, (text) => restored(text, variant.escapes ?? {}));
      }
      assertCellsEqual(values, promised(variant, record));
    }
  }

  it.each(VARIANTS)('$name: every row of the snapshot has the guaranteed values', async (variant) => {
    const header = await namesOf(variant);
    const rows = await duck.rows(`${variant.name}_text`, header);
    expect(rows.length).toBe(1001);
    assertRows(variant, rows, records());
    const columns = [...before, ...records()].flatMap((record) => [...promised(variant, record).keys()]);
    expect(new Set(header.slice(3))).toEqual(new Set(columns));
  });

  it.each(VARIANTS)('$name: the change log of the increment has the changed rows', async (variant) => {
    const header = await namesOf(variant);
    const { runId } = increment.runs.find(({ resource }) => resource === variant.name)!;
    const log = await duck.rows(`${variant.name}_changes_text`, header);
    const rows = log.filter((row) => row._run_id === runId);
    assertRows(
      variant,
      rows,
      records().filter((record) => changed.has(idOf(record))),
    );
  });

  it.each(VARIANTS)('$name: the parts follow the options', async (variant) => {
    const { delimiter = ',', extension = '.csv.gz', parts = 1 } = variant;
    const { snapshot } = await readPointer(stack.store, variant.name);
    const manifest = decodeManifest(await stack.store.read(snapshot), folderOf(snapshot));
    if (parts === 1) expect(manifest.parts.length).toBe(1);
    else expect(manifest.parts.length).toBeGreaterThanOrEqual(parts);
    for (const { key } of manifest.parts) {
      expect(key.endsWith(extension) && !key.endsWith(`.csv${extension}`)).toBe(true);
      const body = await readFile(join(stack.lakeFolder, key));
      const text = (extension === '.csv' ? body : gunzipSync(body)).toString();
      expect(text.startsWith(['_run_id', '_synced_at', '_deleted_at', 'id'].join(delimiter))).toBe(true);
    }
  });

  it('keeps the types of numbers with escapes and masks: no digit is lost, and a hash is text', async () => {
    const numbers = (view: string) =>
      duck.select(`SELECT DISTINCT "ledgerNumber" FROM ${view} WHERE "ledgerNumber" IS NOT NULL ORDER BY 1`);
    for (const view of ['guarded', 'guarded_changes', 'together', 'included', 'semicolon']) {
      expect(await numbers(view), view).toEqual([
        [-9007199254740995n],
        [0n],
        [1n],
        [2n],
        [9007199254740993n],
      ]);
    }
    const hashes = ['-9007199254740995', '0', '1', '2', '9007199254740993'].map(sha256).sort();
    expect(await numbers('masked')).toEqual(hashes.map((hash) => [hash]));
    expect(await numbers('masked_changes')).toEqual(hashes.map((hash) => [hash]));
  });
});
