import { crc32 } from 'node:zlib';
import { InputError } from '../../core/input-error.js';
import { archiveChecksums } from './archive-checksums.js';
import { type NumberFormat, numberFormat } from './serial-time.js';
import type { SheetLibrary } from './sheet-library.js';

/** Reads the parts of a workbook (ECMA-376 part 1, 18). Values are as they are stored. */

export type SheetCell =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'number'; readonly literal: string; readonly format: NumberFormat }
  | { readonly kind: 'boolean'; readonly value: boolean }
  /** A date in ISO 8601, which few programs write. */
  | { readonly kind: 'iso'; readonly text: string }
  /** An error such as `#N/A`. */
  | { readonly kind: 'error'; readonly code: string }
  /** A formula that no program has computed. */
  | { readonly kind: 'no-result' };

export interface SheetRow {
  /** From 1. */
  readonly row: number;
  /** By column, from 0; without empty cells. */
  readonly cells: ReadonlyMap<number, SheetCell>;
}

/** Rows and columns that a sheet can have. */
export const SHEET_ROWS = 1_048_576;
export const SHEET_COLUMNS = 16_384;

export interface SheetInfo {
  readonly name: string;
  readonly isVisible: boolean;
  /** The path of its part. */
  readonly part: string;
}

/** Most bytes of all parts that are unpacked. */
const MAX_UNPACKED_BYTES = 400 * 1024 ** 2;
/** Text that is parsed before rows are taken. */
const CHUNK = 256 * 1024;

export class Workbook {
  readonly #bytes: Uint8Array;
  readonly #library: SheetLibrary;
  readonly #strings: readonly string[];
  readonly #formats: readonly NumberFormat[];
  readonly #checksums: ReadonlyMap<string, number>;
  /** The parts that were unpacked, and their bytes. */
  readonly #parts = new Map<string, string | null>();
  #unpacked = 0;
  /** Whether parts have cells. Many sheets can name the same part. */
  readonly #withCells = new Map<string, boolean>();
  readonly sheets: readonly SheetInfo[];
  /** Its days count from this year. */
  readonly system: 1900 | 1904;

  /** @throws InputError if the file is no workbook */
  constructor(bytes: Uint8Array, library: SheetLibrary) {
    this.#bytes = bytes;
    this.#library = library;
    this.#checksums = archiveChecksums(bytes);
    const start = this.#relations('_rels/.rels').find(({ type }) => type.endsWith('/officeDocument'));
    const path = start?.target ?? 'xl/workbook.xml';
    const name = path.lastIndexOf('/') + 1;
    const targets = this.#relations(`${path.slice(0, name)}_rels/${path.slice(name)}.rels`);
    const { sheets, system } = this.#sheets(path, targets);
    this.sheets = sheets;
    this.system = system;
    const partOf = (name: string): string | undefined =>
      targets.find(({ type }) => type.endsWith(`/${name}`))?.target;
    this.#formats = this.#readFormats(partOf('styles'));
    this.#strings = this.#readStrings(partOf('sharedStrings'));
  }

  /** The text of a part; `null` if there is none. */
  #part(path: string): string | null {
    const before = this.#parts.get(path);
    if (before !== undefined) return before;
    const text = this.#unpack(path);
    this.#parts.set(path, text);
    return text;
  }

  #unpack(path: string): string | null {
    const { unzipSync } = this.#library.zip;
    try {
      const found = unzipSync(this.#bytes, {
        filter: ({ name, originalSize }) => {
          if (name !== path) return false;
          this.#unpacked += originalSize;
          if (this.#unpacked > MAX_UNPACKED_BYTES) throw tooLargeWorkbook(MAX_UNPACKED_BYTES);
          return true;
        },
      })[path];
      if (found === undefined) return null;
      if (crc32(found) !== this.#checksums.get(path)) throw damagedWorkbook();
      return decoded(found);
    } catch (error) {
      if (error instanceof InputError) throw error;
      throw damagedWorkbook();
    }
  }

  /** Calls `on` for each element and text of a part. @param on elements have their names without a prefix */
  *#parse(text: string, on: Handlers): Generator<void> {
    const parser = new this.#library.xml.SaxesParser();
    parser.on('error', () => {
      throw damagedWorkbook();
    });
    parser.on('opentag', ({ name, attributes }) => on.open(local(name), attributes));
    parser.on('closetag', ({ name }) => on.close?.(local(name)));
    parser.on('text', (found) => on.text?.(found));
    parser.on('cdata', (found) => on.text?.(found));
    for (let at = 0; at < text.length; at += CHUNK) {
      parser.write(text.slice(at, at + CHUNK));
      yield;
    }
    parser.close();
  }

  /** Reads a part to its end. @returns whether it exists */
  #read(path: string, on: Handlers): boolean {
    const text = this.#part(path);
    if (text !== null) for (const _ of this.#parse(text, on));
    return text !== null;
  }

  /** @param path `undefined` if the workbook has no such part */
  #readNamed(path: string | undefined, on: Handlers): void {
    if (path !== undefined && !this.#read(path, on)) throw damagedWorkbook();
  }

  #relations(path: string): { id: string; type: string; target: string }[] {
    const found: { id: string; type: string; target: string }[] = [];
    const folder = path.slice(0, path.lastIndexOf('_rels/'));
    this.#read(path, {
      open: (name, { Id = '', Type = '', Target = '' }) => {
        const target = partPath(folder, Target);
        if (name === 'Relationship') found.push({ id: Id, type: Type, target });
      },
    });
    return found;
  }

  #sheets(path: string, targets: readonly { id: string; target: string }[]) {
    const sheets: SheetInfo[] = [];
    let system: 1900 | 1904 = 1900;
    this.#read(path, {
      open: (name, attributes) => {
        if (name === 'workbookPr' && isTrue(attributes.date1904)) system = 1904;
        if (name !== 'sheet') return;
        const id = Object.entries(attributes).find(([key]) => key.endsWith(':id'))?.[1];
        const part = targets.find((one) => one.id === id)?.target;
        const isVisible = (attributes.state ?? 'visible') === 'visible';
        if (part !== undefined) sheets.push({ name: attributes.name ?? '', isVisible, part });
      },
    });
    if (sheets.length === 0) throw damagedWorkbook();
    return { sheets, system };
  }

  #readFormats(path: string | undefined): NumberFormat[] {
    const codes = new Map<number, string>();
    const formats: NumberFormat[] = [];
    let isCell = false;
    this.#readNamed(path, {
      open: (name, { numFmtId, formatCode }) => {
        if (name === 'numFmt') codes.set(Number(numFmtId), formatCode ?? '');
        else if (name === 'cellXfs') isCell = true;
        else if (name === 'xf' && isCell)
          formats.push(numberFormat(Number(numFmtId ?? 0), codes.get(Number(numFmtId))));
      },
      close: (name) => {
        if (name === 'cellXfs') isCell = false;
      },
    });
    return formats;
  }

  #readStrings(path: string | undefined): string[] {
    const strings: string[] = [];
    const text = new RichText();
    this.#readNamed(path, {
      open: (name) => {
        if (name === 'si') text.begin();
        text.open(name);
      },
      text: (found) => text.add(found),
      close: (name) => {
        text.close(name);
        if (name === 'si') strings.push(text.end());
      },
    });
    return strings;
  }

  /** Whether a sheet has any cell with a value. */
  hasCells({ part }: SheetInfo): boolean {
    const found = this.#withCells.get(part) ?? this.#hasValue(this.#part(part) ?? '');
    this.#withCells.set(part, found);
    return found;
  }

  #hasValue(text: string): boolean {
    let found = false;
    const open = (name: string): void => {
      found ||= name === 'v' || name === 'is';
    };
    for (const _ of this.#parse(text, { open })) if (found) return true;
    return found;
  }

  /** The merged cells of a sheet. They follow the rows in a part, and are needed before. */
  mergedCells({ part }: SheetInfo): MergedCells {
    const ranges: string[] = [];
    const text = this.#part(part) ?? '';
    const open = (name: string, { ref = '' }: Readonly<Record<string, string>>): void => {
      if (name === 'mergeCell') ranges.push(ref);
    };
    // Few sheets have any, and then they are parsed only once.
    if (text.includes('mergeCell')) for (const _ of this.#parse(text, { open }));
    return new MergedCells(ranges);
  }

  /** The rows of a sheet that have a cell, in their order. @throws InputError if the file is damaged */
  *rows({ part }: SheetInfo): Generator<SheetRow> {
    const text = this.#part(part);
    if (text === null) throw damagedWorkbook();
    const reader = new CellReader(this.#strings, this.#formats);
    for (const _ of this.#parse(text, reader)) yield* reader.take();
    yield* reader.take();
  }
}

/** The path of a part from the target of a relationship. */
function partPath(folder: string, target: string): string {
  const path: string[] = [];
  for (const name of (target.startsWith('/') ? target : `${folder}${target}`).split('/'))
    if (name === '..') path.pop();
    else if (name !== '.' && name !== '') path.push(name);
  return path.join('/');
}

interface Handlers {
  open(name: string, attributes: Readonly<Record<string, string>>): void;
  close?(name: string): void;
  text?(text: string): void;
}

/** The text of an element with runs; `rPh` has how it is pronounced. */
class RichText {
  #text = '';
  #isText = false;
  #isPhonetic = false;

  begin(): void {
    this.#text = '';
  }

  open(name: string): void {
    if (name === 't') this.#isText = !this.#isPhonetic;
    else if (name === 'rPh') this.#isPhonetic = true;
  }

  add(text: string): void {
    if (this.#isText) this.#text += text;
  }

  close(name: string): void {
    if (name === 't') this.#isText = false;
    else if (name === 'rPh') this.#isPhonetic = false;
  }

  end(): string {
    return unescaped(this.#text);
  }
}

/** Characters that XML cannot have are written as `_x000D_` (18.18.92). */
function unescaped(text: string): string {
  return text.replace(/_x([0-9A-Fa-f]{4})_/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** Collects the rows of a sheet. */
class CellReader implements Handlers {
  readonly #strings: readonly string[];
  readonly #formats: readonly NumberFormat[];
  readonly #inline = new RichText();
  #rows: { row: number; cells: Map<number, SheetCell> }[] = [];
  #row = 0;
  #column = -1;
  #cells: Map<number, SheetCell> | null = null;
  #cell: { type: string; style: number; value: string | null; hasFormula: boolean } | null = null;
  #isValue = false;

  constructor(strings: readonly string[], formats: readonly NumberFormat[]) {
    this.#strings = strings;
    this.#formats = formats;
  }

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (name === 'row') {
      this.#row = rowOf(attributes.r ?? String(this.#row + 1));
      this.#column = -1;
      this.#cells = new Map();
    } else if (name === 'c') {
      this.#column = attributes.r === undefined ? this.#column + 1 : cellOf(attributes.r).column;
      if (this.#column >= SHEET_COLUMNS || this.#cells?.has(this.#column)) throw damagedWorkbook();
      const { t = 'n', s = '0' } = attributes;
      this.#cell = { type: t, style: Number(s), value: null, hasFormula: false };
      this.#inline.begin();
    } else if (this.#cell === null) return;
    else if (name === 'f') this.#cell.hasFormula = true;
    else if (name === 'v') {
      this.#isValue = true;
      this.#cell.value = '';
    } else this.#inline.open(name);
  }

  text(text: string): void {
    if (this.#cell === null) return;
    if (this.#isValue) this.#cell.value += text;
    else this.#inline.add(text);
  }

  close(name: string): void {
    if (name === 'v') this.#isValue = false;
    else if (name === 'c') {
      const cell = this.#finished();
      if (cell !== null) this.#cells?.set(this.#column, cell);
      this.#cell = null;
    } else if (name === 'row') {
      if (this.#cells !== null && this.#cells.size > 0)
        this.#rows.push({ row: this.#row, cells: this.#cells });
      this.#cells = null;
    } else this.#inline.close(name);
  }

  #finished(): SheetCell | null {
    if (this.#cell === null) return null;
    const { type, style, value, hasFormula } = this.#cell;
    if (hasFormula && (value === null || (value === '' && type !== 'str'))) return { kind: 'no-result' };
    if (type === 'inlineStr') return textCell(this.#inline.end());
    if (value === null || value === '') return null;
    if (type === 's') return textCell(required(this.#strings[Number(value)]));
    if (type === 'str') return textCell(unescaped(value));
    if (type === 'b') return { kind: 'boolean', value: required(BOOLEANS[value]) };
    if (type === 'e') return { kind: 'error', code: value };
    if (type === 'd') return { kind: 'iso', text: value };
    const format = this.#formats[style];
    // A workbook without formats has the style 0 only.
    return { kind: 'number', literal: value, format: style === 0 ? (format ?? 'number') : required(format) };
  }

  /** The rows that are complete. */
  take(): readonly SheetRow[] {
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }
}

/** What a file refers to. @throws InputError if it is missing */
function required<T>(value: T | undefined): T {
  if (value === undefined) throw damagedWorkbook();
  return value;
}

const BOOLEANS: Readonly<Record<string, boolean>> = { 1: true, true: true, 0: false, false: false };

function textCell(text: string): SheetCell | null {
  return text === '' ? null : { kind: 'text', text };
}

interface Range {
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
}

/** Cells that are merged with the one above or left of them. */
export class MergedCells {
  readonly #ranges: readonly Range[];
  #next = 0;
  /** By column: the first and the last row that the newest range covers. */
  readonly #first = new Int32Array(SHEET_COLUMNS);
  readonly #last = new Int32Array(SHEET_COLUMNS);

  /** @param ranges such as `A1:B2` @throws InputError for a text that is no range */
  constructor(ranges: readonly string[]) {
    this.#ranges = ranges.map(rangeOf).sort((a, b) => a.top - b.top);
  }

  /**
   * Which columns of a row are covered.
   *
   * @param row not before that of the last call
   * @param width columns that are looked at
   * @throws InputError if ranges overlap, so that each call takes time in proportion to `width`
   */
  at(row: number, width: number): (column: number) => boolean {
    for (; this.#next < this.#ranges.length; this.#next++) {
      const range = this.#ranges[this.#next]!;
      if (range.top > row) break;
      if (range.bottom >= row) this.#cover(range, width);
    }
    return (column) => this.#first[column]! <= row && row <= this.#last[column]!;
  }

  #cover({ top, bottom, left, right }: Range, width: number): void {
    for (let column = left; column <= right && column < width; column++) {
      if (this.#last[column]! >= top) throw damagedWorkbook();
      this.#first[column] = column === left ? top + 1 : top;
      this.#last[column] = bottom;
    }
  }
}

function rangeOf(text: string): Range {
  const [from = '', to = from, ...more] = text.split(':');
  const [start, end] = [cellOf(from), cellOf(to)];
  if (more.length > 0 || start.row > end.row || start.column > end.column) throw damagedWorkbook();
  return { top: start.row, bottom: end.row, left: start.column, right: end.column };
}

/** The cell of a reference such as `AB12`; columns from 0. @throws InputError for any other text, and outside of a sheet */
function cellOf(reference: string): { readonly row: number; readonly column: number } {
  const [, letters, digits] = /^([A-Z]{1,3})(\d+)$/.exec(reference) ?? [];
  if (letters === undefined || digits === undefined) throw damagedWorkbook();
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  if (column > SHEET_COLUMNS) throw damagedWorkbook();
  return { row: rowOf(digits), column: column - 1 };
}

/** @throws InputError for a text that is not the number of a row */
function rowOf(text: string): number {
  const row = /^\d{1,7}$/.test(text) ? Number(text) : 0;
  if (row < 1 || row > SHEET_ROWS) throw damagedWorkbook();
  return row;
}

function local(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function isTrue(text: string | undefined): boolean {
  return text === '1' || text === 'true';
}

function decoded(bytes: Uint8Array): string {
  const encoding = bytes[0] === 0xff ? 'utf-16le' : bytes[0] === 0xfe ? 'utf-16be' : 'utf-8';
  return new TextDecoder(encoding, { fatal: true }).decode(bytes);
}

export function damagedWorkbook(): InputError {
  return new InputError('the workbook is damaged, or is none', {
    remedy: 'Open it in a spreadsheet program and save it as .xlsx, or as CSV UTF-8.',
  });
}

/** @param bytes the limit */
export function tooLargeWorkbook(bytes: number): InputError {
  return new InputError(`the workbook is larger than ${bytes / 1024 ** 2} MiB`, {
    remedy: 'Save the sheet as CSV UTF-8.',
  });
}
