import { createHash } from 'node:crypto';
import type { EpochMs } from '../../core/brands.js';
import type { ObjectStore } from '../../lake/store/index.js';
import type { EngineScope } from '../parquet/engine-scope.js';

/** The names of a table's objects (PROTOCOL.md, "File Types"). Keys are relative to the lake's root. */

/** Where a table is, and how its Parquet files are processed. */
export interface TablePlace extends EngineScope {
  readonly store: ObjectStore;
  readonly resource: string;
}

/** An object of the log. */
export interface LogObject {
  readonly kind: 'commit' | 'checkpoint';
  readonly version: number;
  readonly modifiedAt: EpochMs;
}

/** What an object of the log is; `null` for other names. */
export function parseLogName(name: string): Omit<LogObject, 'modifiedAt'> | null {
  const found = /^(\d{20})\.(json|checkpoint\.parquet)$/.exec(name);
  if (found === null) return null;
  return { kind: found[2] === 'json' ? 'commit' : 'checkpoint', version: Number(found[1]) };
}

/**
 * Name of a data file, such as `part-v12-<part>-<layout>.parquet`. It contains the version that the file was written
 * for, and hashes of all that determines its bytes. So two attempts at one commit write equal bytes under one name, a
 * later attempt finds what an earlier one wrote, and a file whose commit can no longer succeed is recognized.
 *
 * @param part SHA-256 of the part
 * @param layout columns and types, and the version of the writer
 */
export function dataFileName(version: number, part: string, layout: string): string {
  const hash = createHash('sha256').update(layout).digest('hex').slice(0, 16);
  return `${dataFileStem(version, part)}${hash}.parquet`;
}

/** The beginning of the names of all files that hold a part, whatever their layout. */
export function dataFileStem(version: number, part: string): string {
  return `part-v${version}-${part.slice(0, 32)}-`;
}

/** The version that a data file was written for; `null` for a file of another writer. */
export function versionOfDataFile(path: string): number | null {
  const found = /^part-v(\d+)-[0-9a-f]{32}-[0-9a-f]{16}\.parquet$/.exec(path);
  return found === null ? null : Number(found[1]);
}
