import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { columnNames, readRecords, readRows } from '../../../src/lake/published/read-rows.js';
import { readTableColumns } from '../../../src/table/index.js';
import { InProcessMirror } from '../../support/in-process-mirror.js';
import { assertCellsEqual, expectedCells } from '../../support/oracle.js';
import { readSnapshot } from '../../support/snapshot.js';
import { isValueOf, readTableRows } from '../../support/table-rows.js';

/** Texts that escapes concern: with line breaks, backslashes, apostrophes, the start of a formula, and JSON. */
const text = fc.oneof(
  fc.string({
    unit: fc.constantFrom(
      "'",
      '=',
      '-',
      '+',
      '@',
      '\t',
      '\r',
      '\n',
      '\\',
      'n',
      '"',
      '{',
      '}',
      '[',
      'ä',
      '＝',
    ),
    maxLength: 6,
  }),
  fc.constantFrom('-x', "'-x", "''-x", "'", '{"a":"x\\ny"}', '["\\n"]', '{"a":"\n"}', '\\{"a":1}', '', '-5'),
);
const nested = fc.dictionary(fc.constantFrom('a', 'b', 'line\nbreak'), fc.oneof(text, fc.array(text)), {
  minKeys: 1,
});
const record = fc.record({
  text,
  nested,
  amount: fc.integer({ min: -9, max: 9 }),
  rate: fc.integer({ min: -99, max: 99 }).map((n) => n / 4),
  mixed: fc.oneof(text, nested, fc.boolean(), fc.integer(), fc.constant(null)),
});

/** Keys that differ only by an escape of some setting. */
const KEYS = [
  '-x',
  "'-x",
  "''-x",
  "'''-x",
  '=x',
  "'=x",
  "'x",
  'x',
  '\\n',
  '\n',
  '\\\\n',
  "'\\n",
  '{"a":"\\n"}',
];

const ESCAPES = ['keep', 'escape'].flatMap((lineBreaks) =>
  [false, true].map((escapeFormulas) => ({ lineBreaks, escapeFormulas })),
);

describe('The service’s own values', () => {
  let mirror: InProcessMirror;
  afterEach(() => mirror?.close());

  it.each(ESCAPES)(
    'are what every reader gets: lineBreaks $lineBreaks, escapeFormulas $escapeFormulas',
    async (csv) => {
      mirror = await InProcessMirror.start({
        simulator: { counts: { tasks: 0 } },
        resource: 'tasks',
        yaml: `{ name: tasks, key: [ref], csv: ${JSON.stringify(csv)} }`,
        connection: '    tables: { format: delta }\n',
      });
      const { admin } = mirror.simulator;
      const refs = [...KEYS, ...Array.from({ length: 60 }, (_, at) => `-${at}`)];
      const samples = fc.sample(record, { numRuns: refs.length, seed: 20261126 });
      for (const [at, ref] of refs.entries()) admin.create('tasks', JSON.stringify({ ref, ...samples[at] }));
      await mirror.run();
      // An increment, which merges by key and compares cells.
      const [first] = admin.records('tasks');
      admin.update('tasks', (JSON.parse(first!) as { id: string }).id, { text: "'=changed\n" });
      expect((await mirror.run()).counts).toMatchObject({ inserted: 0, updated: 1, rows: refs.length });

      const served = new Map(
        admin.records('tasks').map((one) => [(JSON.parse(one) as { ref: string }).ref, expectedCells(one)]),
      );
      expect(served.size).toBe(refs.length);
      const { manifest } = await mirror.current();
      const names = columnNames(manifest);
      const records = await toArray(readRecords(mirror.store, manifest));
      expect(new Set(records.map(({ ref }) => ref))).toEqual(new Set(refs));
      for (const one of records) assertCellsEqual({ ...one }, served.get(one.ref!)!);
      for (const cells of await toArray(readRows(mirror.store, manifest)))
        assertCellsEqual(
          Object.fromEntries(names.map((name, at) => [name, cells[at] ?? null])),
          served.get(cells[3]!)!,
        );
      // The text of nested values is the one of the snapshot, where no escape applies to it.
      const rows = await readTableRows(mirror.store, 'tasks');
      expect(rows.length).toBe(refs.length);
      for (const row of rows)
        for (const [name, value] of served.get(row.ref as string)!)
          if (value !== null && /^[[{]/.test(value) && row[name] !== value)
            expect(JSON.parse(row[name] as string), name).toEqual(unmarked(value));
          else
            expect(
              isValueOf(row[name], value),
              `${name}: ${JSON.stringify([String(row[name]), value])}`,
            ).toBe(true);
      const types = new Map(
        (await readTableColumns(mirror.store, 'tasks'))!.map(({ name, type }) => [name, type]),
      );
      expect([types.get('amount'), types.get('rate')]).toEqual(['long', 'decimal(18,2)']);

      const stored = (await readSnapshot(mirror.store, 'tasks')).rows.flatMap((row) => Object.values(row));
      if (csv.lineBreaks === 'escape') for (const cell of stored) expect(cell ?? '').not.toMatch(/[\r\n]/);
      if (csv.escapeFormulas) for (const cell of stored) expect(cell ?? '').not.toMatch(/^[=+\-@\t\r＝]/);
    },
  );

  it.each(ESCAPES)(
    'are what records are requested by: lineBreaks $lineBreaks, escapeFormulas $escapeFormulas',
    async (csv) => {
      mirror = await InProcessMirror.start({
        simulator: { counts: { projects: 0 } },
        resource: 'projects',
        yaml: `{ name: projects, csv: ${JSON.stringify(csv)} }`,
      });
      const { admin } = mirror.simulator;
      const ids = ['-a', '=b', '+c', '@d', 'e\\f', "'g", "'-h", 'i'].map((id) => id.padEnd(26, '0'));
      for (const id of ids) admin.create('projects', JSON.stringify({ id, name: 'one' }));
      await mirror.run();
      const gone = ids.filter((_, at) => at % 2 === 0);
      admin.remove('projects', gone);
      // The next run first asks for known projects, which would fail if it asked for other ids.
      expect((await mirror.run()).warnings).toEqual([]);
      const { counts, warnings, deletes } = await mirror.run({ reconcile: true });
      expect({ counts, warnings, deletes }).toMatchObject({
        counts: { deleted: gone.length },
        warnings: [],
        deletes: { basis: 'by-id', reason: null },
      });
      const { manifest } = await mirror.current();
      const left = await toArray(readRecords(mirror.store, manifest));
      expect(left.map(({ id }) => id).sort()).toEqual(ids.filter((id) => !gone.includes(id)).sort());
    },
  );
});

async function toArray<T>(all: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of all) found.push(one);
  return found;
}

/** The oracle's JSON text, whose numbers are marked texts, as a value. */
function unmarked(json: string): unknown {
  return JSON.parse(json, (_, value: unknown) =>
    typeof value === 'string' && value.startsWith('\u0001number:') ? Number(value.slice(8)) : value,
  );
}
