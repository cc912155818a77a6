import type { ByteString } from '../../core/brands.js';
import type { Block } from '../documents/block-index.js';
import type { Manifest } from '../documents/manifest.js';
import { cellEnd } from '../rows/csv.js';
import { headerRow, META_COLUMNS } from '../rows/data-columns.js';
import { payloadAt, rowKey, type SortKey } from '../rows/row.js';
import type { ObjectProblems } from './problem-list.js';

/** How the rows of a part are written, as in its manifest. */
export type RowLayout = Pick<Manifest, 'columns' | 'csv' | 'key'>;

/** Checks a part's rows, one by one, against the manifest and the block index. It does no I/O. */
export class RowCheck {
  readonly #prefix: RegExp;
  sawHeader = false;
  #block = 0;
  #blockRows = 0;
  #blockBytes = 0;
  #blockFirst: SortKey | null = null;
  rows = 0;
  first: SortKey | null = null;
  last: SortKey | null = null;

  /**
   * @param at the part's key, for messages
   * @param blocks of the index, to compare with the rows; `null` for none
   */
  constructor(
    private readonly at: string,
    private readonly layout: RowLayout,
    private readonly blocks: readonly Block[] | null,
    private readonly findings: ObjectProblems,
  ) {
    this.#prefix = prefixPattern(layout.csv.delimiter);
  }

  row(text: ByteString): void {
    if (!this.sawHeader) {
      this.#header(text);
      return;
    }
    this.rows++;
    const key = this.#keyOf(text);
    if (key !== null) this.#order(key);
    this.#inBlock(text.length, key);
  }

  /** Call it after the last row. @param rest text after the last LF */
  end(rest: string): void {
    if (rest !== '') this.findings.add('end', `${this.at} ends in the middle of row ${this.rows + 1}`);
    if (!this.sawHeader) this.findings.add('header', `${this.at} has no header`);
    if (this.blocks !== null && this.#block < this.blocks.length)
      this.findings.add('index', `${this.at}: its index lists rows after the last row`);
  }

  #header(text: ByteString): void {
    this.sawHeader = true;
    if (text !== headerRow(this.layout.columns, this.layout.csv))
      this.findings.add('header', `${this.at}: its header does not match the manifest's columns`);
  }

  #keyOf(text: ByteString): SortKey | null {
    const { columns, csv, key } = this.layout;
    const { delimiter } = csv;
    const at = this.at;
    const cells = META_COLUMNS.length + columns.length;
    const found = cellsOf(text, delimiter);
    if (typeof found === 'string') {
      this.findings.add('shape', `${at}: row ${this.rows} is not valid CSV: ${found}`);
      return null;
    }
    if (found !== cells) {
      this.findings.add('cells', `${at}: row ${this.rows} has ${found} cells, but the header has ${cells}`);
    }
    if (!this.#prefix.test(text)) {
      this.findings.add('prefix', `${at}: row ${this.rows} does not begin with a run id and times`);
      return null;
    }
    return rowKey(text, payloadAt(text), key.length, delimiter);
  }

  #order(key: SortKey): void {
    if (this.last !== null && key === this.last) {
      this.findings.add(
        'twice',
        `${this.at}: the key of row ${this.rows} is the same as in the previous row`,
      );
    } else if (this.last !== null && key < this.last) {
      this.findings.add('order', `${this.at}: the key of row ${this.rows} is less than in the previous row`);
    }
    this.first ??= key;
    this.last = key;
  }

  /** Assigns the row to a block. The first block begins after the header, and there are no gaps between blocks. */
  #inBlock(length: number, key: SortKey | null): void {
    if (this.blocks === null) return;
    const block = this.blocks[this.#block];
    if (block === undefined) {
      this.findings.add('index', `${this.at}: its index ends before row ${this.rows}`);
      return;
    }
    this.#blockFirst ??= key;
    this.#blockRows++;
    this.#blockBytes += length;
    if (this.#blockBytes < block.rawBytes) return;
    const agrees =
      this.#blockBytes === block.rawBytes &&
      this.#blockRows === block.rows &&
      this.#blockFirst === block.first &&
      key === block.last;
    if (!agrees) {
      this.findings.add('index', `${this.at}: the rows of block ${this.#block} do not match its index`);
    }
    this.#block++;
    this.#blockRows = 0;
    this.#blockBytes = 0;
    this.#blockFirst = null;
  }
}

const QUOTE = 0x22;
const LF = 0x0a;

/**
 * Number of cells of one row (with its LF), or a description of its format error. The connector writes RFC 4180 with every
 * quote, line break and delimiter of a value inside quotes (docs/explanation/guarantees.md#csv).
 */
export function cellsOf(row: string, delimiter: string): number | string {
  if (!row.includes('"') && !row.includes('\r')) {
    let cells = 1;
    for (let at = row.indexOf(delimiter); at !== -1; at = row.indexOf(delimiter, at + 1)) cells++;
    return cells;
  }
  for (let at = 0, cells = 1; ; cells++) {
    const end = cellEnd(row, at, delimiter);
    if (row.charCodeAt(at) !== QUOTE) {
      const cell = row.slice(at, end);
      if (cell.includes('"')) return `cell ${cells} has a quote outside quotes`;
      if (cell.includes('\r')) return `cell ${cells} has a CR outside quotes`;
    }
    if (end >= row.length) return `cell ${cells} does not end`;
    const next = row.charCodeAt(end);
    if (next === LF)
      return end === row.length - 1 ? cells : `cell ${cells} is followed by text after the end of the row`;
    if (row[end] !== delimiter) return `cell ${cells} continues after its closing quote`;
    at = end + 1;
  }
}

/** Matches the start of a row: a run id, a time, and a time or nothing. The offsets of `row.ts` depend on it. */
function prefixPattern(delimiter: string): RegExp {
  const d = delimiter.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
  const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;
  return new RegExp(String.raw`^\d{8}T\d{6}Z-[0-9a-f]{8}${d}${time}${d}(?:${time})?${d}`);
}
