import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ByteString, fromByteString, toByteString } from '../../../src/core/brands.js';
import { noFacts } from '../../../src/core/value-facts.js';
import { readRow } from '../../../src/lake/rows/csv.js';
import { restoreFormula } from '../../../src/lake/rows/escaping.js';
import { peopleCsv, writeQuarantine } from '../../../src/lake/rows/people-csv.js';
import { openStore, toObjectKey } from '../../../src/lake/store/index.js';
import { rowEnd } from './data-plane.js';

describe('CSV for people', () => {
  it('ends rows with LF, leaves null empty, and quotes the empty text and what readers would trim or split', () => {
    const row = [null, '', 'a', ' a', 'a\t', 'a,b', 'a"b', 'a\nb', 'a\rb', 'é', undefined];
    expect(peopleCsv([row])).toBe(',"",a," a","a\t","a,b","a""b","a\nb","a\rb",é,\n');
    expect(peopleCsv([['a,b', 'a;b']], ';')).toBe('a,b;"a;b"\n');
    expect(peopleCsv([])).toBe('');
  });

  it('writes no byte order mark, converts no number, date or truth value, and does not escape formulas', () => {
    const row = ['9007199254740993', '12.50', 'true', '2026-11-21', '=1+1', '-7'];
    expect(peopleCsv([row])).toBe(`${row.join(',')}\n`);
  });

  it('gives every text back, as ordinary text and as one byte per character', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 8 });
    const cell = fc.oneof(text, fc.constantFrom(null, '', '"', '\r', '\n', ',', ' '));
    const rows = fc.array(fc.array(cell, { minLength: 2, maxLength: 5 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(rows, (table) => {
        const csv = peopleCsv(table);
        const bytes = peopleCsv(
          table.map((row) => row.map((one) => (one === null ? one : toByteString(one)))),
        );
        expect(fromByteString(bytes)).toBe(csv);
        let at = 0;
        for (const row of table) {
          const end = rowEnd(bytes, at);
          const read = readRow(bytes.slice(at, end), ',');
          expect(read.map((one) => one && fromByteString(one))).toEqual(row);
          at = end;
        }
      }),
    );
  });
});

describe('quarantined records', () => {
  it('show no formula to a spreadsheet, and keep plain texts as they are', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'worktrack-quarantine-'));
    const store = openStore({ url: pathToFileURL(folder).href });
    onTestFinished(async () => {
      store.close();
      await rm(folder, { recursive: true });
    });
    const columns = ['id', 'title'].map((name) => ({ name, types: 17, values: noFacts() }));
    const texts = ['=HYPERLINK("x")', '+1', '-2+3', '@SUM(1)', '\tx', '\rx', '-7', 'plain', null];
    const records = texts.map((text) => [null, text === null ? null : toByteString(text)]);
    const key = toObjectKey('tasks/quarantine.csv');
    await writeQuarantine(store, key, records, columns, { delimiter: ',' });
    const rows = (await store.read(key)).toString('latin1');
    const cells: (string | null)[] = [];
    for (let at = 0; at < rows.length; ) {
      const end = rowEnd(rows as ByteString, at);
      cells.push(readRow(rows.slice(at, end) as ByteString, ',')[1] ?? null);
      at = end;
    }
    expect(cells[0]).toBe('title');
    for (const [at, text] of texts.entries()) {
      const cell = cells[at + 1]!;
      if (text === null) expect(cell).toBeNull();
      else if (/[^A-Za-z0-9._:-]/.test(text)) {
        expect(cell).not.toMatch(/^[=+\-@\t\r]/);
        expect(restoreFormula(cell as ByteString)).toBe(text);
      } else expect(cell).toBe(text);
    }
  });
});
