import { type ByteString, fromByteString, toByteString } from '../core/brands.js';
import { InputError } from '../core/input-error.js';

export interface Field {
  readonly name: ByteString;
  /** The value as JSON, with its original literals. */
  readonly json: ByteString;
}

/** A row of an input in any format. */
export interface InputRow {
  /** Its first line in the file, from 1. */
  readonly line: number;
  readonly fields: readonly Field[];
  /** The field of the key column, if it is not one of `fields`: it is left out, or part of an object. */
  readonly key?: Field;
  /** The row of a batch that it replaces. */
  readonly correction?: Correction;
}

/** The cells of a row that name the row of a batch that it replaces, as they are in the file. */
export interface Correction {
  readonly batch: string;
  readonly row: string;
}

/** The columns of `receipts --csv` next to those of the input: batch, row number, and what the service has said. None is sent. */
export const CORRECTION_COLUMNS = ['_worktrack_batch', '_worktrack_row', '_worktrack_message'] as const;

export function isCorrectionColumn(name: string): boolean {
  return (CORRECTION_COLUMNS as readonly string[]).includes(name);
}

/** The correction that some cells name; `null` without one. */
export function correctionOf(cells: ReadonlyMap<string, string>): Correction | null {
  const [batch, row] = [cells.get(CORRECTION_COLUMNS[0]), cells.get(CORRECTION_COLUMNS[1])];
  return batch === undefined && row === undefined ? null : { batch: batch ?? '', row: row ?? '' };
}

/** The text of a string field, for keys and pairs; `null` for any other value. */
export function textOf({ json }: { readonly json: ByteString }): string | null {
  if (!json.startsWith('"')) return null;
  return JSON.parse(fromByteString(json)) as string;
}

/** A field with the names of the objects around it. */
export interface FlatField extends Field {
  readonly path: readonly ByteString[];
}

type FieldTree = Map<ByteString, Field | FieldTree>;

/**
 * The path of a flattened column: `project.id` is the field `id` of the object `project`
 * (docs/reference/configuration.md, `csv.nested`). A name with an empty part is not a path.
 */
export function pathOf(name: ByteString, separator: string | null): readonly ByteString[] {
  if (separator === null) return [name];
  const parts = fromByteString(name).split(separator);
  return parts.every((part) => part !== '') ? parts.map(toByteString) : [name];
}

/** Makes objects of flattened fields again. @throws InputError if a field is both a value and an object */
export function nestedFields(flat: readonly FlatField[], line: number): Field[] {
  const root: FieldTree = new Map();
  for (const field of flat) {
    let tree = root;
    for (const part of field.path.slice(0, -1)) {
      const inner = tree.get(part) ?? new Map();
      if (!(inner instanceof Map)) throw conflict(field, inner, line);
      tree.set(part, inner);
      tree = inner;
    }
    const name = field.path.at(-1)!;
    const before = tree.get(name);
    if (before !== undefined) throw conflict(field, before, line);
    tree.set(name, field);
  }
  return [...root].map(([name, value]) => {
    return { name, json: value instanceof Map ? jsonOf(value) : value.json };
  });
}

function jsonOf(tree: FieldTree): ByteString {
  const members = [...tree].map(
    ([name, value]) => `${JSON.stringify(name)}:${value instanceof Map ? jsonOf(value) : value.json}`,
  );
  return `{${members.join(',')}}` as ByteString;
}

function conflict(field: Field, before: Field | FieldTree, line: number): InputError {
  const other =
    before instanceof Map ? 'fields of the same object' : JSON.stringify(fromByteString(before.name));
  return new InputError(
    `the row has a value in ${JSON.stringify(fromByteString(field.name))}, and also in ${other}`,
    { line, remedy: 'Leave one of these cells empty, or remove a column with --drop-column.' },
  );
}
