import { TableError, type Unfit, unfitMessage } from './errors.js';
import { type AddFile, PART_TAG, rowsOf } from './log/actions.js';
import { sameTypes, type TableColumn } from './rules/columns.js';
import { type FilesInput, type NewFile, writeFile } from './write-file.js';

/** The data files of a snapshot. */
export interface SnapshotFiles {
  readonly files: readonly AddFile[];
  /** The table's columns, with types that hold all values. */
  readonly columns: readonly TableColumn[];
  /** Values that are NULL because they do not fit the types of the configuration. */
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
      const { file, columns: wider } = await writeFile(input, part, columns);
      written.set(part.sha256, file);
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

function totals(unfit: readonly Unfit[]): Unfit[] {
  const byName = new Map<string, Unfit>();
  for (const one of unfit)
    byName.set(one.name, { ...one, count: one.count + (byName.get(one.name)?.count ?? 0) });
  return [...byName.values()];
}
