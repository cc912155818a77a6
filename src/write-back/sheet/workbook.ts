import { InputError } from '../input-error.js';
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
  | { readonly kind: 'no-result' }
  /** A cell that is covered by another one. */
  | { readonly kind: 'merged' };

export interface SheetRow {
  /** From 1. */
  readonly row: number;
  /** By column, from 0; without empty cells. */
  readonly cells: ReadonlyMap<number, SheetCell>;
}

export interface SheetInfo {
  readonly name: string;
  readonly isVisible: boolean;
  /** The path of its part. */
  readonly part: string;
}

/** Most bytes of an unpacked part. */
const MAX_PART_BYTES = 400 * 1024 ** 2;
/** Text that is parsed before rows are taken. */
const CHUNK = 256 * 1024;

export class Workbook {
  readonly #bytes: Uint8Array;
  readonly #library: SheetLibrary;
  readonly #strings: readonly string[];
  readonly #formats: readonly NumberFormat[];
  readonly sheets: readonly SheetInfo[];
  /** Its days count from this year. */
  readonly system: 1900 | 1904;

  /** @throws InputError if the file is no workbook */
  constructor(bytes: Uint8Array, library: SheetLibrary) {
    this.#bytes = bytes;
    this.#library = library;
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

  #part(path: string): string | null {
    const { unzipSync } = this.#library.zip;
    try {
      const found = unzipSync(this.#bytes, {
        filter: ({ name, originalSize }) => {
          if (name !== path) return false;
          if (originalSize > MAX_PART_BYTES)
            throw new InputError(`the sheet is larger than ${MAX_PART_BYTES / 1024 ** 2} MiB`, {
              remedy: 'Save it as CSV UTF-8.',
            });
          return true;
        },
      })[path];
      return found === undefined ? null : decoded(found);
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

  #read(path: string | undefined, on: Handlers): void {
    const text = path === undefined ? null : this.#part(path);
    if (text !== null) for (const _ of this.#parse(text, on));
  }

  #relations(path: string): { id: string; type: string; target: string }[] {
    const found: { id: string; type: string; target: string }[] = [];
    const folder = path.slice(0, path.lastIndexOf('_rels/'));
    this.#read(path, {
      open: (name, { Id = '', Type = '', Target = '' }) => {
        const target = Target.startsWith('/') ? Target.slice(1) : folder + Target;
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
    this.#read(path, {
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
    this.#read(path, {
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
    return /<(?:[a-z]+:)?(?:v|is)[ />]/.test(this.#part(part) ?? '');
  }

  /** The rows of a sheet that have a cell, in their order. @throws InputError if the file is damaged */
  *rows({ part }: SheetInfo): Generator<SheetRow> {
    const text = this.#part(part);
    if (text === null) throw damagedWorkbook();
    const merged = new MergedCells(text);
    const reader = new CellReader(this.#strings, this.#formats);
    for (const _ of this.#parse(text, reader)) yield* reader.take(merged);
    yield* reader.take(merged);
  }
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
      this.#row = Number(attributes.r ?? this.#row + 1);
      this.#column = -1;
      this.#cells = new Map();
    } else if (name === 'c') {
      this.#column = attributes.r === undefined ? this.#column + 1 : columnOf(attributes.r);
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
    if (type === 's') return textCell(this.#strings[Number(value)] ?? '');
    if (type === 'str') return textCell(unescaped(value));
    if (type === 'b') return { kind: 'boolean', value: isTrue(value) };
    if (type === 'e') return { kind: 'error', code: value };
    if (type === 'd') return { kind: 'iso', text: value };
    return { kind: 'number', literal: value, format: this.#formats[style] ?? 'number' };
  }

  /** The rows that are complete. */
  *take(merged: MergedCells): Generator<SheetRow> {
    const rows = this.#rows;
    this.#rows = [];
    for (const { row, cells } of rows) {
      for (const column of merged.covered(row)) cells.set(column, { kind: 'merged' });
      yield { row, cells };
    }
  }
}

function textCell(text: string): SheetCell | null {
  return text === '' ? null : { kind: 'text', text };
}

interface Range {
  readonly top: number;
  readonly bottom: number;
  readonly left: number;
  readonly right: number;
}

/** Columns of a sheet that are looked at for merged cells. */
const SHEET_COLUMNS = 16_384;

/** Cells that are merged with the one above or left of them. They follow the rows in a part, and are needed before. */
class MergedCells {
  readonly #ranges: Range[];
  #active: Range[] = [];
  #next = 0;

  constructor(text: string) {
    const all = text.matchAll(/<(?:[a-z]+:)?mergeCell [^<>]*?ref="([A-Z]+)(\d+):([A-Z]+)(\d+)"/g);
    this.#ranges = [...all]
      .map(([, left = '', top, right = '', bottom]) => ({
        ...{ top: Number(top), bottom: Number(bottom) },
        ...{ left: columnOf(left), right: Math.min(columnOf(right), SHEET_COLUMNS) },
      }))
      .sort((a, b) => a.top - b.top);
  }

  /** The covered columns of a row. @param row not before that of the last call */
  *covered(row: number): Generator<number> {
    while (this.#next < this.#ranges.length && this.#ranges[this.#next]!.top <= row)
      this.#active.push(this.#ranges[this.#next++]!);
    this.#active = this.#active.filter(({ bottom }) => bottom >= row);
    for (const { top, left, right } of this.#active)
      for (let column = row === top ? left + 1 : left; column <= right; column++) yield column;
  }
}

/** The column of a reference such as `AB12`, from 0. */
function columnOf(reference: string): number {
  let column = 0;
  for (const letter of reference) {
    const value = letter.charCodeAt(0) - 64;
    if (value < 1 || value > 26) break;
    column = column * 26 + value;
  }
  return column - 1;
}

function local(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function isTrue(text: string | undefined): boolean {
  return text === '1' || text === 'true';
}

function decoded(bytes: Uint8Array): string {
  const encoding = bytes[0] === 0xff ? 'utf-16le' : bytes[0] === 0xfe ? 'utf-16be' : 'utf-8';
  return new TextDecoder(encoding).decode(bytes);
}

export function damagedWorkbook(): InputError {
  return new InputError('the workbook is damaged, or is none', {
    remedy: 'Open it in a spreadsheet program and save it as .xlsx, or as CSV UTF-8.',
  });
}
