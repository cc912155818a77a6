import { versionOfDataFile } from './paths.js';
import type { TableState } from './table-state.js';

/**
 * Data files that are in no kept version. A file that was written for a later version than `state` may belong to a commit
 * in progress. A file that was written for an earlier one cannot: a commit of that version exists already.
 *
 * @param paths objects of the table outside its log
 */
export function garbage(state: TableState, paths: Iterable<string>, since: number): string[] {
  return [...paths].filter((path) => {
    if (state.files.has(path)) return false;
    const removed = state.removed.get(path);
    if (removed !== undefined) return removed.deletionTimestamp < since;
    const version = versionOfDataFile(path);
    return version !== null && version <= state.version;
  });
}

/** An object of the log. */
export interface LogObject {
  readonly kind: 'commit' | 'checkpoint';
  readonly version: number;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

/**
 * Commits and checkpoints that no kept version needs (PROTOCOL.md, "Metadata Cleanup"): those before the newest
 * checkpoint that is not newer than the version shown at `since`.
 *
 * @param shownIn our last commit, which says what the table shows. It is kept although only other programs committed since
 */
export function outdatedLog<T extends LogObject>(
  objects: readonly T[],
  since: number,
  shownIn = Number.POSITIVE_INFINITY,
): T[] {
  const shown = newest(objects.filter(({ kind, modifiedAt }) => kind === 'commit' && modifiedAt <= since));
  const start = newest(objects.filter(({ kind, version }) => kind === 'checkpoint' && version <= shown));
  return objects.filter(({ version }) => version < Math.min(start, shownIn));
}

function newest(objects: readonly LogObject[]): number {
  return Math.max(-1, ...objects.map(({ version }) => version));
}
