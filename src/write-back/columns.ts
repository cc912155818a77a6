import { type ByteString, fromByteString } from '../core/brands.js';
import { readManifest } from '../lake/published/manifest.js';
import { readPointer } from '../lake/published/pointer.js';
import { type Column, columnName, typeNames } from '../lake/rows/schema.js';
import type { ObjectStore } from '../lake/store/index.js';
import { InputError } from './input-error.js';

/** The JSON type of a CSV column's cells in requests. */
const CELL_TYPES = ['string', 'integer', 'number', 'boolean', 'json'] as const;
type CellType = (typeof CELL_TYPES)[number];

/** Column types by field name. */
export type CellTypes = Readonly<Record<string, CellType>>;

export interface InputColumn {
  readonly name: ByteString;
  readonly type: CellType;
  /** Where the type comes from, for messages. */
  readonly from: 'header' | 'batch' | 'published' | 'pair' | 'nothing';
}

export interface TypeSources {
  /** Columns of the published snapshot; empty without one. */
  readonly published: readonly Column[];
  /** Types from the start of the batch; empty for a new batch. */
  readonly fixed: CellTypes;
  /** Columns that are always text. */
  readonly text: readonly string[];
}

/**
 * The columns of a CSV. A type comes from a suffix in the header (`durationSeconds:integer`), from the batch, or from the
 * published snapshot. An unknown column, or one with several types, is text.
 *
 * @throws InputError for an empty name, a duplicate name, an unknown type, and a type that differs from the batch's
 */
export function inputColumns(
  header: readonly (ByteString | null)[],
  line: number,
  sources: TypeSources,
): InputColumn[] {
  const published = new Map(sources.published.map((column) => [column.name, column.types]));
  const columns = header.map((cell, at): InputColumn => {
    const { name, suffix } = headerCell(cell, at, line, {
      isName: (name) => published.has(columnName(name)) || Object.hasOwn(sources.fixed, name),
    });
    const text = fromByteString(name);
    const fixed = Object.hasOwn(sources.fixed, text) ? sources.fixed[text] : undefined;
    if (suffix !== null && fixed !== undefined && fixed !== suffix)
      throw changedType(text, fixed, suffix, line);
    if (sources.text.includes(text)) return { name, type: 'string', from: 'pair' };
    if (suffix !== null) return { name, type: suffix, from: 'header' };
    if (fixed !== undefined) return { name, type: fixed, from: 'batch' };
    const seen = publishedType(published.get(columnName(text)) ?? 0);
    return seen === null
      ? { name, type: 'string', from: 'nothing' }
      : { name, type: seen, from: 'published' };
  });
  checkNames(columns, line);
  return columns;
}

function headerCell(
  cell: ByteString | null,
  at: number,
  line: number,
  { isName }: { readonly isName: (name: string) => boolean },
): { name: ByteString; suffix: CellType | null } {
  if (cell === null || cell === '')
    throw new InputError(`column ${at + 1} has no name in the header`, { line });
  const colon = cell.lastIndexOf(':');
  const text = fromByteString(cell);
  // The name of a field can contain a colon.
  if (colon <= 0 || isName(text)) return { name: cell, suffix: null };
  const suffix = CELL_TYPES.find((type) => type === cell.slice(colon + 1));
  if (suffix !== undefined) return { name: cell.slice(0, colon) as ByteString, suffix };
  throw new InputError(
    `column ${at + 1}, ${JSON.stringify(text)}, has an unknown type after the colon`,
    { line },
    `The types are ${CELL_TYPES.join(', ')}. Without a type, the published snapshot decides.`,
  );
}

/** The single type of a published column besides null; `null` for a column with no other values. */
function publishedType(bits: number): CellType | null {
  const names = typeNames(bits).filter((name) => name !== 'null');
  if (names.length === 0) return null;
  if (names.every((name) => name === 'integer')) return 'integer';
  if (names.every((name) => name === 'integer' || name === 'number')) return 'number';
  if (names.every((name) => name === 'object' || name === 'array')) return 'json';
  return names.length === 1 && names[0] === 'boolean' ? 'boolean' : 'string';
}

function checkNames(columns: readonly InputColumn[], line: number): void {
  const seen = new Map<string, number>();
  for (const [at, { name }] of columns.entries()) {
    const before = seen.get(name);
    if (before !== undefined) {
      throw new InputError(
        `the header names ${JSON.stringify(fromByteString(name))} twice, in columns ${before + 1} and ${at + 1}`,
        { line },
      );
    }
    seen.set(name, at);
  }
}

function changedType(name: string, fixed: CellType, suffix: CellType, line: number): InputError {
  return new InputError(
    `the batch was started with ${name} as ${fixed}, but the header now has ${suffix}`,
    { line },
    'Send the rows that need another type as a separate batch.',
  );
}

/** The types to fix for the rest of the batch. */
export function typesOf(columns: readonly InputColumn[]): CellTypes {
  return Object.fromEntries(columns.map(({ name, type }) => [fromByteString(name), type]));
}

/** Columns that no published row has had, such as misspelled ones; empty without a snapshot. They are sent as they are. */
export function unpublishedColumns(
  columns: readonly InputColumn[],
  published: readonly Column[],
): readonly string[] {
  if (published.length === 0) return [];
  const known = new Set(published.map(({ name }) => name));
  return columns.map(({ name }) => fromByteString(name)).filter((name) => !known.has(columnName(name)));
}

/** Columns of a resource's published snapshot with the JSON types of their values; empty without a snapshot. */
export async function publishedColumns(store: ObjectStore, resource: string): Promise<readonly Column[]> {
  const pointer = await readPointer(store, resource);
  return (pointer && (await readManifest(store, pointer.snapshot)))?.columns ?? [];
}
