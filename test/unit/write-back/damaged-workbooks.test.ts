import { unzipSync, zipSync } from 'fflate';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StagedFiles } from './staged.js';
import { number, row, text, workbook } from './workbook.js';

let files: StagedFiles;
beforeAll(() => {
  files = new StagedFiles();
});
afterAll(() => files.remove());

const DAMAGED = /^the workbook is damaged, or is none/;
const HEADER = row(1, text('description'), text('n:number'));

describe('a workbook with a place that no sheet has', () => {
  it.each([
    ['a row after the last', '<row r="4000000000"><c><v>1</v></c></row>'],
    ['a row without end', '<row r="1e999"><c><v>1</v></c></row>'],
    ['a row that is no number', '<row r="x"><c><v>1</v></c></row>'],
    ['a row that is no integer', '<row r="2.5"><c><v>1</v></c></row>'],
    ['the row 0', '<row r="0"><c><v>1</v></c></row>'],
    ['a column after the last', '<row r="2"><c r="XFE2"><v>1</v></c></row>'],
    ['a column far away', '<row r="2"><c r="ZZZZZZ1"><v>1</v></c></row>'],
    ['a column in lower case', '<row r="2"><c r="b2"><v>1</v></c></row>'],
    ['a cell without a column', '<row r="2"><c r="12"><v>1</v></c></row>'],
    ['a cell twice', '<row r="2"><c r="A2"><v>1</v></c><c r="A2"><v>2</v></c></row>'],
    ['too many cells', `<row r="2">${'<c/>'.repeat(16_385)}</row>`],
  ])('is damaged: %s', async (_, cells) => {
    expect(await files.error('a.xlsx', workbook({ one: HEADER + cells }))).toMatch(DAMAGED);
  });

  it.each(['A1', 'A2:B', 'B3:A2', 'A2:A3:A4', 'A2:XFE3', 'x'])('has no merged cells at %s', async (ref) => {
    const merged = `<mergeCells><mergeCell ref="A4:B5"/><mergeCell ref="${ref}"/></mergeCells>`;
    const bytes = workbook({ one: HEADER + row(2, text('a')) }, '', merged);
    if (ref === 'A1') expect(await files.bodies('a.xlsx', bytes)).toHaveLength(1);
    else expect(await files.error('a.xlsx', bytes)).toMatch(DAMAGED);
  });
});

describe('a workbook whose values cannot be read', () => {
  it.each([
    ['a shared string that does not exist', '<c t="s"><v>7</v></c>'],
    ['a shared string that is no number', '<c t="s"><v>x</v></c>'],
    ['a style that does not exist', '<c s="9"><v>1</v></c>'],
    ['a boolean that is none', '<c t="b"><v>yes</v></c>'],
  ])('is damaged: %s', async (_, cell) => {
    expect(await files.error('a.xlsx', workbook({ one: HEADER + row(2, text('a'), cell) }))).toMatch(DAMAGED);
  });

  it('is damaged if one of its parts is missing', async () => {
    const replace = (part: string, name: string) =>
      name.endsWith('.rels') ? part.replace('styles.xml', 'none.xml') : part;
    const bytes = workbook({ one: HEADER + row(2, text('a')) }, '', '', replace);
    expect(await files.error('a.xlsx', bytes)).toMatch(DAMAGED);
  });

  it('is damaged if bytes are not UTF-8, or are not those that were packed', async () => {
    const sheet = HEADER + row(2, text('umlaut'));
    const stored = (bytes: Buffer) => Buffer.from(zipSync(unzipSync(bytes), { level: 0 }));
    const [book, at] = [stored(workbook({ one: sheet })), (bytes: Buffer) => bytes.indexOf('umlaut')];
    expect(await files.bodies('a.xlsx', book)).toEqual([{ description: 'umlaut' }]);
    const changed = Buffer.from(book);
    changed.write('Umlaut', at(changed));
    expect(await files.error('a.xlsx', changed)).toMatch(DAMAGED);
    const parts = unzipSync(workbook({ one: sheet }));
    const part = Buffer.from(parts['book/sheets/0.xml']!);
    part[part.indexOf('umlaut')] = 0xfc;
    expect(
      await files.error('a.xlsx', Buffer.from(zipSync({ ...parts, 'book/sheets/0.xml': part }))),
    ).toMatch(DAMAGED);
  });

  it('can have any prefix and quotes, and paths that lead up', async () => {
    const prefixed = (part: string, name: string) => {
      if (name.endsWith('.rels')) return part.replace('Target="sheets/', 'Target="../book/./sheets/');
      if (!name.includes('sheets/')) return part;
      return part
        .replaceAll(/<(\/?)(?=\w)/g, '<$1ns0:')
        .replace('xmlns=', 'xmlns:ns0=')
        .replace('ref="A2:A3"', "ref='A2:A3'");
    };
    const merged = '<mergeCells count="1"><mergeCell ref="A2:A3"/></mergeCells>';
    const sheet = `${HEADER}${row(2, text('a'), number('1'))}<row r="3"><c r="B3"><v>2</v></c></row>`;
    expect(await files.error('a.xlsx', workbook({ one: sheet }, '', merged, prefixed))).toMatch(
      /^line 3: the cell of description is merged/,
    );
    expect(await files.bodies('a.xlsx', workbook({ one: sheet }, '', '', prefixed))).toHaveLength(2);
  });
});

describe('a large workbook', () => {
  it('takes no time or memory for merged cells outside of its rows', async () => {
    const rows = Array.from({ length: 2_000 }, (_, at) => row(at + 3, text('a'), number(String(at))));
    const wide = '<mergeCells><mergeCell ref="C1:XFD1048576"/></mergeCells>';
    const begun = process.cpuUsage();
    const bodies = await files.bodies('a.xlsx', workbook({ one: HEADER + rows.join('') }, '', wide));
    expect(bodies).toHaveLength(2_000);
    expect(process.cpuUsage(begun).user / 1e6).toBeLessThan(20);
  });

  it('is not read if its merged cells overlap', async () => {
    const ranges = '<mergeCell ref="A2:XFD1048576"/>'.repeat(100_000);
    const bytes = workbook({ one: HEADER + row(2, text('a')) }, '', `<mergeCells>${ranges}</mergeCells>`);
    expect(await files.error('a.xlsx', bytes)).toMatch(DAMAGED);
  });

  it('is read once for each part, whatever number of sheets it is', async () => {
    const sheets = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`sheet ${at}`, '']));
    const same = (part: string, name: string) =>
      name.endsWith('.rels') ? part.replaceAll(/sheets\/\d+/g, 'sheets/0') : part;
    const bytes = workbook({ ...sheets, 'sheet 0': ' '.repeat(2 * 1024 ** 2) }, '', '', same);
    expect(await files.error('a.xlsx', bytes)).toMatch(/no visible sheet of the workbook has a cell/);
  });

  it('has up to 400 MiB in all parts', async () => {
    const bytes = workbook({ one: '', two: HEADER });
    // The entry of the directory says how large the part is.
    const entry = bytes.lastIndexOf('book/sheets/1.xml') - 46;
    bytes.writeUInt32LE(400 * 1024 ** 2, entry + 24);
    expect(await files.error('a.xlsx', bytes)).toMatch(/is larger than 400 MiB/);
  });

  it('has up to 100 MiB', async () => {
    expect(await files.error('a.xlsx', Buffer.alloc(100 * 1024 ** 2 + 1))).toMatch(/is larger than 100 MiB/);
  });
});
