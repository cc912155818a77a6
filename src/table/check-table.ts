import { DamagedError } from '../lake/damaged-error.js';
import { pointerKey } from '../lake/published/layout.js';
import { decodePointer } from '../lake/published/pointer.js';
import type { ObjectStore } from '../lake/store/index.js';
import { rowsOf } from './log/actions.js';
import { listSizes } from './log/maintain.js';
import { dataKey, tablePrefix } from './log/names.js';
import { readTable } from './log/read-table.js';
import { readSnapshot } from './published-snapshot.js';

/**
 * Checks that the newest version of a table shows what `latest.json` names, has its number of rows, and names files that
 * exist with their size. It reads the log and a listing, not the files.
 *
 * @returns the problems, as sentences @throws StoreError if the store fails
 */
export async function checkTable(store: ObjectStore, resource: string): Promise<string[]> {
  const found = await store.readIfExists(pointerKey(resource));
  // `verifySnapshot` reports a missing or damaged pointer.
  if (found === null) return [];
  try {
    const pointer = decodePointer(found.body);
    const { state } = await readTable(store, resource);
    const at = tablePrefix(resource);
    if (state.version < 0) return [`${at} is missing, although tables.format is delta`];
    const { runId, amendedBy = null } = pointer;
    if (!state.shows({ runId, amendedBy })) {
      const shown = state.shown === null ? 'no run of this connector' : `run ${state.shown.runId}`;
      return [`${at} version ${state.version} shows ${shown}, and latest.json names run ${runId}`];
    }
    const snapshot = await readSnapshot(store, pointer.snapshot);
    if (snapshot !== null && !state.shows({ runId, amendedBy, manifest: snapshot.sha256 }))
      return [
        `${at} version ${state.version} shows run ${runId} as it was before a purge. Run the purge again`,
      ];
    const manifest = snapshot?.manifest ?? null;
    const rows = [...state.files.values()].reduce((sum, file) => sum + (rowsOf(file) ?? 0), 0);
    const sizes = await listSizes(store, resource);
    return [
      ...(manifest === null || manifest.counts.rows === rows
        ? []
        : [`${at} version ${state.version} has ${rows} rows instead of ${manifest.counts.rows}`]),
      ...[...state.files.values()].flatMap(({ path, size }) => {
        const bytes = sizes.get(path);
        if (bytes === size) return [];
        const what = bytes === undefined ? 'is missing' : `has ${bytes} bytes instead of ${size}`;
        return [`${dataKey(resource, path)}, which version ${state.version} of the table names, ${what}`];
      }),
    ];
  } catch (error) {
    if (error instanceof DamagedError) return [error.message];
    if (error instanceof SyntaxError) return [];
    throw error;
  }
}
