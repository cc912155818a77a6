import { VERSION } from '../core/version.js';
import { damagedObject } from '../lake/damaged-error.js';
import type { Manifest, PublishedPart } from '../lake/published/manifest.js';
import { checkObject } from '../lake/published/publish.js';
import { META_COLUMNS } from '../lake/rows/schema.js';
import type { ObjectStore } from '../lake/store/index.js';
import { TableError, type Unfit, unfitMessage } from './errors.js';
import { type AddFile, PART_TAG, rowsOf } from './log/actions.js';
import { dataFileName, dataFileStem, dataKey } from './log/names.js';
import type { TableState } from './log/state.js';
import { convertPart } from './parquet/convert-part.js';
import { readFileTypes } from './parquet/file-types.js';
import { type ColumnType, joinTypes, valueClass } from './rules/column-type.js';
import { sameTypes, type TableColumn } from './rules/columns.js';

export interface FilesInput {
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
  readonly badValues: 'stop' | 'clear';
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly signal: AbortSignal;
}

/** The data files of a snapshot. */
export interface SnapshotFiles {
  readonly files: readonly AddFile[];
  /** The table's columns, with types that hold all values. */
  readonly columns: readonly TableColumn[];
  /** Values that are NULL because they do not fit the types of the configuration. */
  readonly unfit: readonly Unfit[];
}

interface NewFile {
  readonly add: AddFile;
  /** Types of the columns in the file, by name. */
  readonly types: readonly TableColumn[];
  readonly unfit: readonly Unfit[];
}

/**
 * One data file for each part of a snapshot. A part that the table holds already keeps its file, unless the type of a
 * column changed. The others are converted; files that an earlier attempt at the same version wrote are used.
 *
 * @throws TableError if values do not fit the types of the configuration and `badValues` is `stop`
 */
export async function writeSnapshotFiles(input: FilesInput): Promise<SnapshotFiles> {
  const parts = input.manifest.parts.filter(({ rows }) => rows > 0);
  const kept = keptFiles(input);
  const written = new Map<string, NewFile>();
  let columns = input.columns;
  // A part can widen a type after other files were written, so these are written again, with types that hold all values.
  for (let isStable = false; !isStable; ) {
    isStable = true;
    for (const part of parts) {
      const isKept = kept.has(part.sha256) && sameTypes(input.before, columns);
      const known = written.get(part.sha256);
      if (isKept || (known !== undefined && sameTypes(known.types, columns))) continue;
      const wider = await writeFile(input, part, columns, written);
      isStable &&= sameTypes(columns, wider);
      columns = wider;
    }
    isStable &&= parts.every(({ sha256 }) => {
      const file = written.get(sha256);
      return file === undefined ? sameTypes(input.before, columns) : sameTypes(file.types, columns);
    });
  }
  const unfit = totals([...written.values()].flatMap((file) => file.unfit));
  if (unfit.length > 0 && input.badValues === 'stop')
    throw new TableError(unfitMessage(input.resource, unfit));
  const files = parts.map(({ sha256 }) => written.get(sha256)?.add ?? kept.get(sha256)!);
  return { files, columns, unfit };
}

/** Files of the version before that exist, by the SHA-256 of their part. */
function keptFiles({ state, sizes }: FilesInput): Map<string, AddFile> {
  const kept = new Map<string, AddFile>();
  for (const add of state.files.values()) {
    const part = add.tags?.[PART_TAG];
    if (part !== undefined && sizes.get(add.path) === add.size && rowsOf(add) !== null) kept.set(part, add);
  }
  return kept;
}

/** Writes the file of one part and adds it to `written`. @returns the table's columns, widened by the part's values */
async function writeFile(
  input: FilesInput,
  part: PublishedPart,
  start: readonly TableColumn[],
  written: Map<string, NewFile>,
): Promise<readonly TableColumn[]> {
  const found = await findWritten(input, part, start);
  if (found !== null) {
    written.set(part.sha256, found.file);
    return found.columns;
  }
  const { store, resource, manifest, state, signal } = input;
  const { csv } = manifest;
  const version = state.version + 1;
  const pathOf = (types: readonly ColumnType[]): string => {
    const layout = JSON.stringify([
      VERSION,
      inPart(input, start).map(({ alias, fixed }, at) => [alias, types[at], fixed]),
    ]);
    return dataFileName(version, { part: part.sha256, layout });
  };
  let columns = start;
  for (;;) {
    const ofPart = inPart(input, columns);
    const kinds = new Map(manifest.columns.map(({ name, types }) => [name, valueClass(types)]));
    const { outcome, types, unfit, file } = await convertPart(store, {
      ...{ part, compression: csv.compression, signal },
      job: {
        ...{ delimiter: csv.delimiter, lineBreaks: csv.lineBreaks },
        columns: ofPart.map((column) => ({ ...column, kind: kinds.get(column.name) ?? 'text' })),
      },
      keyOf: (inFile) => dataKey(resource, pathOf(inFile)),
    });
    columns = widened(columns, ofPart, types);
    if (outcome === 'widened' || file === null) continue;
    const problem = await checkObject(store, file);
    if (problem !== null) throw damagedObject(file.key, problem);
    written.set(part.sha256, {
      add: addOf(input, part, pathOf(types), file.bytes),
      types: ofPart.map((column, at) => ({ ...column, type: types[at]! })),
      unfit: unfitOf(ofPart, unfit),
    });
    return columns;
  }
}

function unfitOf(ofPart: readonly TableColumn[], counts: readonly (number | null)[]): Unfit[] {
  return ofPart
    .map(({ name, type }, at): Unfit => ({ name, type, count: counts[at] ?? 0 }))
    .filter(({ count }) => count > 0);
}

/**
 * Finds a file of this part that an earlier attempt at this version wrote, if its types are still valid and the
 * configuration set the types of the same columns.
 */
async function findWritten(
  input: FilesInput,
  part: PublishedPart,
  start: readonly TableColumn[],
): Promise<{ readonly file: NewFile; readonly columns: readonly TableColumn[] } | null> {
  const { store, resource, sizes, state, signal } = input;
  const stem = dataFileStem(state.version + 1, part.sha256);
  const ofPart = inPart(input, start);
  for (const [path, size] of sizes) {
    if (!path.startsWith(stem)) continue;
    const footer = await readFileTypes(store, { key: dataKey(resource, path), bytes: size }, signal);
    if (footer?.types.length !== ofPart.length) continue;
    const { types, unfit } = footer;
    if (ofPart.some(({ fixed }, at) => fixed !== (unfit[at] !== null))) continue;
    const columns = widened(start, ofPart, types);
    const inFile = ofPart.map((column, at) => ({ ...column, type: types[at]! }));
    if (!sameTypes(inFile, columns)) continue;
    const file = { add: addOf(input, part, path, size), types: inFile, unfit: unfitOf(ofPart, unfit) };
    return { file, columns };
  }
  return null;
}

function addOf({ now }: FilesInput, part: PublishedPart, path: string, size: number): AddFile {
  return {
    ...{ path, partitionValues: {}, size, modificationTime: now, dataChange: true },
    stats: JSON.stringify({ numRecords: part.rows }),
    tags: { [PART_TAG]: part.sha256 },
  };
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

function totals(unfit: readonly Unfit[]): Unfit[] {
  const byName = new Map<string, Unfit>();
  for (const one of unfit)
    byName.set(one.name, { ...one, count: one.count + (byName.get(one.name)?.count ?? 0) });
  return [...byName.values()];
}
