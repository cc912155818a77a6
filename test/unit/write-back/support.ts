import { fromByteString } from '../../../src/core/brands.js';
import type { InputFormat } from '../../../src/core/write-back-contract.js';
import { type InputRow, readRows, type TypeSources } from '../../../src/write-back/index.js';

const NO_TYPES: TypeSources = { published: [], fixed: {}, text: [] };

/** Reads a text in pieces of so many bytes. */
export async function rowsOf(
  text: string | Buffer,
  format: InputFormat = 'csv',
  pieceBytes = 1 << 20,
  types: Partial<TypeSources> = {},
): Promise<InputRow[]> {
  const bytes = Buffer.from(text as string);
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  }
  const rows: InputRow[] = [];
  for await (const some of readRows(pieces(), { format, types: { ...NO_TYPES, ...types } }))
    rows.push(...some);
  return rows;
}

/** A row's fields as JSON text, by name. */
export function fieldsOf(row: InputRow): Record<string, string> {
  return Object.fromEntries(row.fields.map(({ name, json }) => [fromByteString(name), fromByteString(json)]));
}
