import type { EpochMs, ObjectKey } from '../core/brands.js';
import type { TableSettings } from '../core/settings.js';
import { parseStored } from '../core/stored-json.js';
import { VERSION } from '../core/version.js';
import { damagedObject } from '../lake/damaged-error.js';
import { tableKeys } from '../lake/documents/lake-layout.js';
import type { Manifest, PublishedPart } from '../lake/documents/manifest.js';
import { type Column, META_COLUMNS } from '../lake/rows/data-columns.js';
import { checkObject } from '../lake/store/digest.js';
import type { ObjectStore } from '../lake/store/index.js';
import type { Unfit } from './errors.js';
import { type AddFile, FILE_TAG, PART_TAG } from './log/actions.js';
import { dataFileName, dataFileStem } from './log/paths.js';
import type { TableState } from './log/table-state.js';
import { convertPart, type PartToUpdate, updatePart } from './parquet/convert-part.js';
import type { EngineScope } from './parquet/engine-scope.js';
import { readMetadata } from './parquet/parquet-records.js';
import { type PartColumn, TYPES_KEY, UNFIT_KEY } from './parquet/part-file.js';
import { type ColumnType, joinTypes, valueClass } from './rules/column-type.js';
import { sameTypes, type TableColumn } from './rules/table-columns.js';

export interface FilesInput extends EngineScope {
  readonly store: ObjectStore;
  readonly resource: string;
  /** The snapshot that the files hold. */
  readonly manifest: Manifest;
  /** The version before. */
  readonly state: TableState;
  /** Columns of the version before, and those to begin with. */
  readonly before: readonly TableColumn[];
  readonly columns: readonly TableColumn[];
  /** Sizes of the table's objects, by path. */
  readonly sizes: ReadonlyMap<string, number>;
  /** The parts of the run's change log; none if they are not known. */
  readonly changes: () => Promise<readonly PublishedPart[]>;
  readonly badValues: 'stop' | 'clear';
  readonly codec: TableSettings['codec'];
  readonly now: EpochMs;
  readonly signal: AbortSignal;
}

/** A data file that is not in the table yet. */
export interface NewFile {
  readonly add: AddFile;
  /** Types of the columns in the file, by name. */
  readonly types: readonly TableColumn[];
  readonly unfit: readonly Unfit[];
}

/** A data file, and the table's columns, widened by its values. */
export interface WrittenFile {
  readonly file: NewFile;
  readonly columns: readonly TableColumn[];
}

/**
 * The file of one part: one that an earlier attempt at this version wrote, one that is updated from a file of the version before, or a
 * converted one.
 *
 * @param kept files of the version before, by the SHA-256 of their part
 */
export async function writeFile(
  input: FilesInput,
  part: PublishedPart,
  start: readonly TableColumn[],
  kept: ReadonlyMap<string, AddFile>,
): Promise<WrittenFile> {
  const found = await findWritten(input, part, start);
  if (found !== null) return found;
  const { store, resource, manifest, state, codec, tempFolder, signal } = input;
  const version = state.version + 1;
  const ofPart = inPart(input, start);
  const pathOf = (types: readonly ColumnType[], writer: string): string => {
    const columns = ofPart.map(({ alias, fixed }, at) => [alias, types[at], fixed]);
    return dataFileName(version, part.sha256, JSON.stringify([VERSION, writer, codec, columns]));
  };
  const conversion = {
    ...{ part, codec, tempFolder, signal },
    ...{ layout: { csv: manifest.csv, columns: partColumns(manifest.columns, ofPart) } },
    fileOf(inFile: readonly ColumnType[], writer: string) {
      const path = pathOf(inFile, writer);
      return { path, key: tableKeys(resource).data(path) };
    },
  };
  const base = await baseOf(input, part, kept, ofPart);
  const keyColumns = ofPart
    .slice(META_COLUMNS.length)
    .slice(0, manifest.key.length)
    .map(({ alias }) => alias);
  const updated = base === null ? null : await updatePart(store, { ...conversion, ...base, keyColumns });
  const { types, unfit, file, path } = updated ?? (await convertPart(store, conversion));
  const problem = file.confirmed ? null : await checkObject(store, file);
  if (problem !== null) throw damagedObject(file.key, problem);
  const inFile = { path, size: file.bytes, types, unfit };
  return {
    file: newFile(input, part, ofPart, inFile, file.sha256),
    columns: widened(start, ofPart, types),
  };
}

/** What the file of a part can be updated from; `null` if that is not certain. */
async function baseOf(
  { resource, changes }: FilesInput,
  { base }: PublishedPart,
  kept: ReadonlyMap<string, AddFile>,
  ofPart: readonly TableColumn[],
): Promise<Pick<PartToUpdate, 'before' | 'changes' | 'changedColumns'> | null> {
  const file = base === undefined ? undefined : kept.get(base.part);
  const sha256 = file?.tags?.[FILE_TAG];
  if (base === undefined || file === undefined || sha256 === undefined) return null;
  const changed = (await changes()).find((one) => one.sha256 === base.changes);
  if (changed === undefined) return null;
  const { columns } = base;
  return {
    ...{ before: { key: tableKeys(resource).data(file.path), sha256 }, changes: changed },
    changedColumns:
      columns === undefined
        ? null
        : ofPart.filter(({ name }) => columns.includes(name)).map(({ alias }) => alias),
  };
}

/** The columns of a part for its conversion. @param columns data columns of the snapshot */
export function partColumns(
  columns: readonly Column[],
  ofPart: readonly Pick<TableColumn, 'name' | 'alias' | 'type' | 'fixed'>[],
): PartColumn[] {
  const kinds = new Map(columns.map(({ name, types }) => [name, valueClass(types)]));
  return ofPart.map(({ name, alias, type, fixed }) => ({
    ...{ alias, type, fixed },
    kind: kinds.get(name) ?? 'text',
  }));
}

/** @param ofPart the table's columns that the part has @param sha256 of the file; absent: not known */
function newFile(
  { now }: FilesInput,
  part: PublishedPart,
  ofPart: readonly TableColumn[],
  { path, size, types, unfit }: FileTypes & Pick<AddFile, 'path' | 'size'>,
  sha256?: string,
): NewFile {
  return {
    add: {
      ...{ path, partitionValues: {}, size, modificationTime: now, dataChange: true },
      stats: JSON.stringify({ numRecords: part.rows }),
      tags: { [PART_TAG]: part.sha256, ...(sha256 === undefined ? {} : { [FILE_TAG]: sha256 }) },
    },
    types: ofPart.map((column, at) => ({ ...column, type: types[at]! })),
    unfit: ofPart
      .map(({ name, type }, at): Unfit => ({ name, type, count: unfit[at] ?? 0 }))
      .filter(({ count }) => count > 0),
  };
}

/**
 * Finds a file of this part that an earlier attempt at this version wrote, if its types are still valid and the
 * configuration set the types of the same columns.
 */
async function findWritten(
  input: FilesInput,
  part: PublishedPart,
  start: readonly TableColumn[],
): Promise<WrittenFile | null> {
  const { store, resource, sizes, state, signal } = input;
  const stem = dataFileStem(state.version + 1, part.sha256);
  const ofPart = inPart(input, start);
  for (const [path, size] of sizes) {
    if (!path.startsWith(stem)) continue;
    const footer = await readFileTypes(store, tableKeys(resource).data(path), { size, signal });
    if (footer?.types.length !== ofPart.length) continue;
    const { types, unfit } = footer;
    if (ofPart.some(({ fixed }, at) => fixed !== (unfit[at] !== null))) continue;
    const columns = widened(start, ofPart, types);
    const file = newFile(input, part, ofPart, { path, size, types, unfit });
    if (sameTypes(file.types, columns)) return { file, columns };
  }
  return null;
}

/** The table's columns that a part has, in the order of its header. */
function inPart({ manifest }: FilesInput, columns: readonly TableColumn[]): TableColumn[] {
  const byName = new Map(columns.map((column) => [column.name, column]));
  return [...META_COLUMNS, ...manifest.columns.map(({ name }) => name)].map((name) => byName.get(name)!);
}

function widened(
  columns: readonly TableColumn[],
  ofPart: readonly TableColumn[],
  types: readonly ColumnType[],
): readonly TableColumn[] {
  const found = new Map(ofPart.map(({ name }, at) => [name, types[at]!]));
  return columns.map((column) =>
    column.fixed ? column : { ...column, type: joinTypes(column.type, found.get(column.name) ?? 'empty') },
  );
}

/** What the footer of a data file says of its columns, in the order of the part. */
interface FileTypes {
  readonly types: readonly ColumnType[];
  /** Number of values that do not fit; `null` for a column whose type the configuration did not set. */
  readonly unfit: readonly (number | null)[];
}

/**
 * The types of the columns of a data file that this connector wrote, from its footer; `null` for another file, also one that is
 * not Parquet.
 */
async function readFileTypes(
  store: ObjectStore,
  key: ObjectKey,
  of: { readonly size: number; readonly signal: AbortSignal },
): Promise<FileTypes | null> {
  const found = await readMetadata(store, key, of).catch((error: unknown) => {
    if (error instanceof RangeError) return {} as Record<string, string>;
    throw error;
  });
  const [types, unfit] = [found[TYPES_KEY], found[UNFIT_KEY]];
  if (types === undefined || unfit === undefined) return null;
  return { types: parseStored(types) as ColumnType[], unfit: parseStored(unfit) as (number | null)[] };
}
