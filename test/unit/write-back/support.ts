import { fromByteString } from '../../../src/core/brands.js';
import type { InputFormat } from '../../../src/core/contract/write-back.js';
import type { InputRow } from '../../../src/write-back/fields.js';
import type { TypeSources } from '../../../src/write-back/input-columns.js';
import { readInputRows } from '../../../src/write-back/input-rows.js';

const NO_TYPES: TypeSources = { published: [], fixed: {}, text: [] };

/** Yields a text in chunks of `chunkBytes` bytes. */
export async function rowsOf(
  text: string | Buffer,
  format: InputFormat = 'csv',
  chunkBytes = 1 << 20,
  types: Partial<TypeSources> = {},
): Promise<InputRow[]> {
  const bytes = Buffer.from(text as string);
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
  }
  const rows: InputRow[] = [];
  for await (const some of readInputRows(chunks(), { format, types: { ...NO_TYPES, ...types } }))
    rows.push(...some);
  return rows;
}

/** A row's fields as JSON, by name. */
export function fieldsOf(row: InputRow): Record<string, string> {
  return Object.fromEntries(row.fields.map(({ name, json }) => [fromByteString(name), fromByteString(json)]));
}
