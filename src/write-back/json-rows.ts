import { type ByteString, fromByteString, toByteString } from '../core/brands.js';
import { InputError } from '../core/input-error.js';
import { fieldOfColumn, META_COLUMNS } from '../lake/rows/data-columns.js';
import { CellsReader, inputRow, type RowContext } from './csv-rows.js';
import { type Field, type InputRow, isCorrectionColumn, textOf } from './fields.js';
import { type InputColumn, inputColumns, isIso, type PublishedForm, publishedForm } from './input-columns.js';
import { JsonArrayParser, type JsonRecord, NdjsonParser } from './json-parser.js';

/** Converts JSON records to rows: objects as they are, and the cells of an export (`worktrack cat --json`) like those of a CSV. */
export class JsonRows {
  readonly #parser: JsonArrayParser | NdjsonParser;
  readonly #context: RowContext;
  readonly #forms: ReadonlyMap<ByteString, PublishedForm>;
  readonly #drop: ReadonlySet<ByteString>;
  /** The columns of an export, by name. */
  readonly #columns = new Map<ByteString, InputColumn>();
  /** Reads rows of an export that have these names. */
  #cells: { readonly header: readonly ByteString[]; readonly reader: CellsReader } | null = null;

  constructor(format: 'json' | 'ndjson', context: RowContext) {
    this.#parser = format === 'json' ? new JsonArrayParser() : new NdjsonParser();
    this.#context = context;
    const { types, reading } = context;
    this.#drop = new Set(reading.drop.map(toByteString));
    this.#forms = new Map(
      (context.compares ? types.published : []).flatMap((column) => {
        const form = publishedForm(column);
        const field = fieldOfColumn(column.name);
        const isText = reading.text.includes(field) || types.text.includes(field);
        return form === null || isText ? [] : [[toByteString(field), form] as const];
      }),
    );
  }

  read(text: string, state: 'open' | 'end'): InputRow[] {
    const records = this.#parser.parse(text, state);
    const { isExport } = this.#parser;
    const { facts } = this.#context;
    const rowOf = (record: JsonRecord) => (isExport ? this.#exportedRow(record) : this.#row(record));
    const rows = records.map((record) => facts.attempt(() => rowOf(record)) ?? null);
    if (state === 'end' && this.#cells !== null) this.#context.onColumns([...this.#columns.values()]);
    return rows.filter((row) => row !== null);
  }

  /** A row of `worktrack cat --json`, whose values are the texts of cells. */
  #exportedRow({ line, fields }: JsonRecord): InputRow | null {
    const header = fields.map(({ name }) => name);
    const known = this.#cells?.header;
    const isKnown = known?.length === header.length && header.every((name, at) => name === known[at]);
    if (!isKnown || this.#cells === null) this.#cells = { header, reader: this.#readerOf(header, line) };
    const cells = fields.map(({ json }) => cellOf(json));
    return this.#cells.reader.row(cells, line);
  }

  #readerOf(header: readonly ByteString[], line: number): CellsReader {
    const reading = { ...this.#context.reading, escaped: NOT_ESCAPED };
    const columns = inputColumns(header, line, this.#context.types, reading);
    for (const column of columns) this.#columns.set(column.name, column);
    return new CellsReader(columns, { ...this.#context, reading });
  }

  #row({ line, fields }: JsonRecord): InputRow | null {
    const { reading, facts, keyColumn } = this.#context;
    if (reading.decimalComma || reading.dates !== null)
      throw new InputError('decimal commas and date formats are settings of a CSV', {
        line,
        remedy: 'Leave --decimal-comma and --date-format out: JSON values are sent as written.',
      });
    if (fields.every(({ json }) => json === 'null')) {
      facts.blankLines++;
      return null;
    }
    let isDeleted = false;
    let key: Field | undefined;
    const sent: Field[] = [];
    let named: Map<string, string> | undefined;
    for (const field of fields) {
      const { name, json } = field;
      if (isCorrectionColumn(name)) {
        named ??= new Map();
        named.set(name, textOf(field) ?? json);
      } else if (this.#drop.has(name)) {
        facts.dropped.add(fromByteString(name));
        if (name === keyColumn) key = field;
      } else if (name.charCodeAt(0) === UNDERSCORE && (META_COLUMNS as readonly string[]).includes(name)) {
        isDeleted ||= name === '_deleted_at' && json !== 'null';
      } else {
        this.#check(field, line);
        sent.push(
          name.charCodeAt(0) === UNDERSCORE
            ? { ...field, name: toByteString(fieldOfColumn(fromByteString(name))) }
            : field,
        );
      }
    }
    if (isDeleted) {
      facts.deletedRows++;
      return null;
    }
    return inputRow({ line, fields: sent, key, named }, facts);
  }

  #check({ name, json }: Field, line: number): void {
    const form = this.#forms.get(name);
    if (form === undefined || json === 'null' || hasForm(json, form)) return;
    const value = textOf({ json }) ?? fromByteString(json);
    this.#context.facts.addUnlike(fromByteString(name), { line, value, form });
  }
}

const UNDERSCORE = 0x5f;
const QUOTE = 0x22;

function hasForm(json: ByteString, form: PublishedForm): boolean {
  const first = json.charCodeAt(0);
  if (form === 'boolean') return json === 'true' || json === 'false';
  if (form === 'number') return first === 0x2d || (first >= 0x30 && first <= 0x39);
  return first === QUOTE && isIso(json.slice(1, -1), form);
}

/** `cat --json` writes names and values as they are. */
const NOT_ESCAPED = { lineBreaks: 'keep', escapeFormulas: false } as const;

function cellOf(json: ByteString): ByteString | null {
  if (json === 'null') return null;
  const text = textOf({ json });
  return text === null ? json : toByteString(text);
}
