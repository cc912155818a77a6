import fc from 'fast-check';
import { type ListEnvelope, readListPage } from '../../../../src/api/json/page.js';
import type { FieldColumns } from '../../../../src/api/json/record.js';
import { type ByteString, type Cells, fromByteString, toByteString } from '../../../../src/core/brands.js';
import { type MutableFacts, noFacts } from '../../../../src/core/value-facts.js';

/** Columns in the order first met, nothing left out. */
export class AllColumns implements FieldColumns {
  readonly names: string[] = [];
  readonly types: number[] = [];
  readonly facts: MutableFacts[] = [];

  columnOf(field: ByteString): number {
    const name = fromByteString(field);
    const known = this.names.indexOf(name);
    if (known !== -1) return known;
    this.types.push(0);
    this.facts.push(noFacts());
    return this.names.push(name) - 1;
  }
}

export interface Read extends ListEnvelope {
  readonly columns: AllColumns;
  /** By row, the cells that are there, as ordinary text. */
  readonly records: Map<string, string | null>[];
}

export function readText(text: string, flatten: string | null = null): Read {
  const columns = new AllColumns();
  const page = readListPage(toByteString(text), {
    columns,
    flatten: flatten === null ? null : toByteString(flatten),
  });
  return { ...page, columns, records: page.rows.map((row) => toRecord(row, columns.names)) };
}

function toRecord(row: Cells, names: readonly string[]): Map<string, string | null> {
  const record = new Map<string, string | null>();
  for (const [at, name] of names.entries()) {
    const cell = row[at];
    if (cell !== undefined) record.set(name, cell === null ? null : fromByteString(cell));
  }
  return record;
}

/** A page around records that are given as JSON text. */
export function pageOf(...records: string[]): string {
  return `{"data":[${records.join(',')}],"page":{"limit":10,"nextCursor":null}}`;
}

export function readRecord(record: string, flatten: string | null = null): Map<string, string | null> {
  return readText(pageOf(record), flatten).records[0]!;
}

/** JSON as its tokens, so that white space can be put between them, or not. */
export type Tokens = string[];

const NUMBERS = [
  '9007199254740993',
  '12.50',
  '1e21',
  '-0',
  '0.1e-7',
  '0',
  '-1.5E+3',
  '1E400',
  '100000000000000000000',
];

/** Field names that are awkward in JavaScript, in CSV or in JSON. */
const NAMES = [
  'id',
  'name',
  'a',
  'b',
  '__proto__',
  'constructor',
  'toString',
  '',
  'ü',
  '日本',
  'a"b',
  'a\\',
  'a,b',
  '😀',
];

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  // Code units of all kinds, lone surrogates among them.
  fc
    .array(fc.oneof(fc.integer({ min: 0xd700, max: 0xe0ff }), fc.integer({ min: 0, max: 0x24f })), {
      maxLength: 6,
    })
    .map((units) => String.fromCharCode(...units)),
);

/** A string literal with some escaped characters, as the numbers say. */
function literal(text: string, styles: readonly number[]): string {
  let out = '"';
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    const escaped = `\\u${code.toString(16).padStart(4, '0')}`;
    const alone = !text.charAt(at).isWellFormed();
    const paired = alone && text.slice(at, at + 2).isWellFormed() && at + 1 < text.length && code < 0xdc00;
    const style = styles.length === 0 ? 0 : styles[at % styles.length]!;
    if (paired && style !== 1) {
      out += text.slice(at, at + 2);
      at++;
    } else if (alone || style === 1 || code < 0x20) out += escaped;
    else if (text[at] === '/' && style === 2) out += '\\/';
    else out += JSON.stringify(text[at]).slice(1, -1);
  }
  return `${out}"`;
}

const styles = fc.array(fc.integer({ min: 0, max: 2 }), { maxLength: 5 });
const stringToken = fc.tuple(anyText, styles).map(([text, how]) => literal(text, how));
const nameToken = fc
  .tuple(fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...NAMES) }, anyText), styles)
  .map(([text, how]) => literal(text, how));
const scalarToken = fc.oneof(
  stringToken,
  fc.constantFrom('true', 'false', 'null'),
  fc.constantFrom(...NUMBERS),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
);

function joined(open: string, items: readonly Tokens[], close: string): Tokens {
  return [open, ...items.flatMap((item, at) => (at === 0 ? item : [',', ...item])), close];
}

const { value, object } = fc.letrec<{ value: Tokens; object: Tokens }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    scalarToken.map((token) => [token]),
    tie('object'),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => joined('[', items, ']')),
  ),
  object: fc.array(fc.tuple(nameToken, tie('value')), { maxLength: 5 }).map((members) =>
    joined(
      '{',
      members.map(([name, item]) => [name, ':', ...item]),
      '}',
    ),
  ),
}));

export const anyValue = value;
export const anyRecord = object;

/** White space to put between tokens, in turn. */
export const anyGaps = fc.array(fc.constantFrom('', '', ' ', '\n', '\r\n', '\t', '  '), {
  minLength: 1,
  maxLength: 7,
});

export function spaced(tokens: Tokens, gaps: readonly string[]): string {
  return (
    tokens.map((token, at) => gaps[at % gaps.length]! + token).join('') + gaps[tokens.length % gaps.length]!
  );
}

export const recordsPage = (records: readonly Tokens[]): Tokens => [
  '{',
  '"data"',
  ':',
  ...joined('[', records, ']'),
  ',',
  '"page"',
  ':',
  '{',
  '"limit"',
  ':',
  '10',
  ',',
  '"nextCursor"',
  ':',
  '"c1"',
  '}',
  '}',
];
