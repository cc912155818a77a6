import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import type { InputReading } from '../../../src/core/contract/write-back.js';
import { batchKeys } from '../../../src/write-back/batch-layout.js';
import { checkCorrections } from '../../../src/write-back/check-corrections.js';
import type { WriteBackSource } from '../../../src/write-back/check-write-back.js';
import type { BatchFile } from '../../../src/write-back/plan-file.js';
import { PLAIN_READING } from '../../../src/write-back/reading.js';
import { rejectedRows } from '../../../src/write-back/rejected-rows.js';
import { resultLines, resultsHeader } from '../../../src/write-back/results.js';
import { encodeSealed } from '../../../src/write-back/sealed.js';
import { PLAN, planRows, SENDING } from '../activities/planned-rows.js';
import { ENTRY_COLUMNS, entryRows, StagedFiles } from './staged.js';
import { number, row, text, workbook } from './workbook.js';

/** What another file needs: nothing of it fits an export, or rows to correct. */
const PROFILE = {
  ...{ encoding: 'windows-1252', delimiter: ';', decimalComma: true, units: { durationSeconds: 'h' } },
  ...{ dropColumns: ['rate'], keyColumn: 'Ticket', sheet: 'Zeiten', dateFormats: ['dd.MM.yyyy'] },
};
const BATCH = 'b';

let files: StagedFiles;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'worktrack-own-'));
  files = new StagedFiles(`writeBack: { time-entries: { input: ${JSON.stringify(PROFILE)} } }`);
  await files.publish('time-entries', ENTRY_COLUMNS, entryRows(25));
});
afterAll(() => {
  files.remove();
  rmSync(folder, { recursive: true });
});

describe('an export of the lake', () => {
  const BODY = { description: 'Prüfung', durationSeconds: 60, rate: 1.5 };
  const cells = [text('_run_id'), text('description'), text('durationSeconds'), text('rate')];
  const one = `${row(1, ...cells)}${row(2, text('x'), text('Prüfung'), number('60'), number('1.5'))}`;

  it.each<[string, string | Buffer]>([
    ['a.csv', '_run_id,description,durationSeconds,rate\nx,Prüfung,60,1.5\n'],
    ['a.csv', 'sep=|\n"description"|"durationSeconds"|"rate"| "_run_id"\nPrüfung|60|1.5|x\n'],
    ['a.csv', '\n"durationSeconds"\t"rate"\t"description"\t_run_id\n60\t1.5\tPrüfung\tx\n'],
    ['a.csv', Buffer.from('\ufeff_run_id;description;durationSeconds;rate\nx;Prüfung;60;1.5\n', 'utf16le')],
    ['a.xlsx', workbook({ one })],
  ])('is read without the options of the configuration: %s, no. %#', async (name, bytes) => {
    expect(await files.bodies(name, bytes)).toEqual([BODY]);
  });

  it('is read so if it is the sheet that the configuration specifies', async () => {
    const bytes = workbook({ Notizen: row(1, text('note')) + row(2, text('x')), Zeiten: one });
    expect(await files.bodies('a.xlsx', bytes)).toEqual([BODY]);
  });

  it('is read with those of the command', async () => {
    const bytes = Buffer.from('_run_id;description;durationSeconds\nx;Pr\xfcfung;1,5\n', 'latin1');
    const options = { encoding: 'latin1', decimalComma: true, units: { durationSeconds: 'min' } };
    expect(await files.bodies('a.csv', bytes, options)).toEqual([
      { description: 'Prüfung', durationSeconds: 90 },
    ]);
  });

  it('is not any file that has the name of its column in a cell', async () => {
    const bytes = Buffer.from('Ticket;description\n7;_run_id \xfc\n', 'latin1');
    expect(await files.bodies('a.csv', bytes)).toEqual([{ Ticket: '7', description: '_run_id ü' }]);
  });
});

it('needs a date format of the command in each file, and one of the configuration in none', async () => {
  expect(await files.bodies('a.csv', 'Ticket;description\n7;b\n')).toHaveLength(1);
  const options = { dateFormats: ['dd.MM.yyyy'] };
  expect(await files.error('a.csv', 'Ticket;description\n7;b\n', options)).toMatch(
    /no cell has the date format/,
  );
});

describe('rows to correct', () => {
  const input = 'x.csv' as ObjectKey;

  /** A batch of three rows that was read in this way. */
  async function writeBatch(reading: Partial<InputReading>, keyColumn = 'ref'): Promise<void> {
    const { baseUrl } = files.connection;
    const batch: BatchFile = {
      ...{ connection: 'acme', baseUrl, sameAs: [], resource: 'time-entries', sending: SENDING },
      ...{ kind: 'csv', keyColumn, types: {} },
    };
    const file = {
      ...{ sequence: 1, baseUrl, input, rows: 3, chunks: [3], pending: [], writer: 'w' },
      reading: { ...PLAIN_READING, ...reading },
    };
    const keys = batchKeys(BATCH);
    await files.store.write(keys.batch, encodeSealed(batch));
    await files.store.write(PLAN, encodeSealed(file));
    await files.store.write(
      keys.summary,
      encodeSealed({ plan: PLAN, baseUrl, complete: true, found: 0, written: null }),
    );
  }

  function check(name: string, bytes: string | Buffer, options: Partial<WriteBackSource> = {}) {
    const file = join(folder, name);
    writeFileSync(file, bytes);
    const request = { resource: 'time-entries', file, ...options };
    return checkCorrections(files.connection, files.store, request);
  }

  it('are UTF-8 with commas, whatever the configuration says', async () => {
    await writeBatch({});
    const found = await check('c.csv', `ref,rate,_worktrack_batch,_worktrack_row\nä,1.5,${BATCH},2\n`);
    expect(found?.rows).toEqual([2]);
    expect(found?.order.corrections.reading).toMatchObject({ encoding: null, delimiter: ',', drop: [] });
  });

  it.each(['Schlüssel', 'ключ'])('have their key in the column %s', async (keyColumn) => {
    await writeBatch({}, keyColumn);
    const csv = `${keyColumn},rate,_worktrack_batch,_worktrack_row\nä,1.5,${BATCH},2\n`;
    expect((await check('c.csv', csv))?.rows).toEqual([2]);
    await expect(check('c.csv', csv.replace('ä', ''))).rejects.toThrow(
      `the row has no value in the key column "${keyColumn}"`,
    );
  });

  it('of a workbook have errors in the columns that the batch sends, and only there', async () => {
    const bad = '<c t="e"><v>#N/A</v></c>';
    const head = row(1, ...['ref', 'rate', 'extra', '_worktrack_batch', '_worktrack_row'].map(text));
    const sheet = (...cells: string[]) =>
      workbook({ one: head + row(2, text('k'), ...cells, text(BATCH), number('2')) });
    await writeBatch({ drop: ['extra'] });
    const found = await check('c.xlsx', sheet(number('1.5'), bad));
    expect(found?.rows).toEqual([2]);
    await found?.copy();
    const input = found?.order.corrections.input;
    expect((await files.store.read(input!)).toString()).toContain(`"k",1.5,"","${BATCH}","2"`);
    await expect(check('c.xlsx', sheet(bad, number('1')))).rejects.toThrow(/the cell of rate has the error/);
  });

  it('of a workbook come back as they were, with decimal commas', async () => {
    await writeBatch({ lines: 'records', decimalComma: true });
    await files.store.write(input, Buffer.from('"ref","rate"\n"a",1.234\n"b","1,5"\n"c",7\n'));
    await planRows(files.store, 3, 3);
    const result = { outcome: 'rejected', status: 422, id: null, message: 'no' } as const;
    const rows = [1, 2, 3].map((n) => {
      const sent = { key: `k${n}`, idempotencyKey: `u${n}`, content: '', pair: null, body: '{}' };
      return { row: { row: n, line: n + 1, ...sent, verdict: null, receipt: null, sentAt: null }, result };
    });
    const text = resultsHeader() + resultLines(rows, { escapeFormulas: false });
    await files.store.write(batchKeys(BATCH).results, Buffer.from(text, 'latin1'));
    const pieces: string[] = [];
    for await (const piece of rejectedRows(files.store, BATCH)) pieces.push(piece);
    const csv = Buffer.from(pieces.join(''), 'latin1');
    expect(csv.toString()).toMatch(/a,"1,234",b,1.*\r?\nb,"1,5",b,2.*\r?\nc,7,b,3/);
    expect((await check('c.csv', csv))?.rows).toEqual([1, 2, 3]);
  });
});
