import type { PublishedPart } from '../lake/documents/manifest.js';
import type { Column } from '../lake/rows/data-columns.js';
import type { ObjectStore } from '../lake/store/index.js';
import { keptFiles } from './commit-state.js';
import { readDamagedTable } from './log/read-table.js';
import type { EngineScope } from './parquet/engine-scope.js';
import { decodeSchema, type FixedTypes, nextColumns, sameTypes } from './rules/table-columns.js';

export interface FilesToWrite {
  readonly written: number;
  readonly kept: number;
}

/**
 * The data files that a commit of a snapshot would write and keep. Values that do not fit the type of a column, which only their
 * conversion shows, make it write more.
 */
export async function filesToWrite(
  store: ObjectStore,
  resource: string,
  snapshot: {
    readonly parts: readonly PublishedPart[];
    readonly columns: readonly Column[];
    readonly types: FixedTypes;
  } & EngineScope,
): Promise<FilesToWrite> {
  const table = await readDamagedTable(store, resource, snapshot);
  const { metaData } = table.state;
  const before = metaData === null ? [] : decodeSchema(metaData.schemaString);
  const isSame = sameTypes(before, nextColumns(before, snapshot.columns, snapshot.types));
  const files = isSame ? keptFiles(table) : new Map();
  const parts = snapshot.parts.filter(({ rows }) => rows > 0);
  const kept = parts.filter(({ sha256 }) => files.has(sha256)).length;
  return { written: parts.length - kept, kept };
}
