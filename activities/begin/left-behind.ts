import type { ObjectKey } from '../../src/core/brands.js';
import { folderOf } from '../../src/lake/layout.js';
import { decodeManifest } from '../../src/lake/manifest.js';
import type { Pointer } from '../../src/lake/pointer.js';
import { listDates, listRuns, readChain } from '../../src/lake/runs.js';
import type { Column } from '../../src/lake/schema.js';
import type { ObjectStore } from '../../src/lake/store/index.js';

/** What a run that follows a rollback takes over from the runs that were left behind. */
export interface Inheritance {
  /** Columns are only ever added, a rollback or not (DESIGN 3.9). */
  readonly columns: readonly Column[];
  /** Manifests of their change logs, oldest first. */
  readonly leftBehind: readonly ObjectKey[];
}

/** @param pointer names the run that was gone back to */
export async function inheritance(
  store: ObjectStore,
  resource: string,
  { runId, rolledBackFrom }: Pointer,
): Promise<Inheritance> {
  const found = rolledBackFrom === undefined ? null : await store.readIfExists(rolledBackFrom.changes);
  if (rolledBackFrom === undefined || found === null) return { columns: [], leftBehind: [] };
  const { columns } = decodeManifest(found.body, folderOf(rolledBackFrom.changes));
  const folders = await listRuns(store, resource, 'changes', await listDates(store, resource, 'changes'));
  const leftBehind: ObjectKey[] = [];
  for await (const run of readChain(store, resource, rolledBackFrom.changes, folders)) {
    if (run.runId === runId) break;
    leftBehind.unshift(run.changes);
  }
  return { columns, leftBehind };
}
