import type { ObjectKey } from '../../src/core/brands.js';
import type { ResourceSettings } from '../../src/core/settings.js';
import { folderOf } from '../../src/lake/layout.js';
import { decodeManifest } from '../../src/lake/manifest.js';
import type { Pointer } from '../../src/lake/pointer.js';
import type { Column } from '../../src/lake/schema.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { listDates, listRuns, readChain } from '../chain.js';

/** What a run that follows a rollback takes over from the runs that were left behind. */
export interface Inheritance {
  /** Columns are only ever added, a rollback or not (DESIGN 3.9). */
  readonly columns: readonly Column[];
  /** Manifests of change logs, oldest first: what left the window since can be had from nowhere else. */
  readonly reapply: readonly ObjectKey[];
}

/** @param pointer names the run that was gone back to */
export async function inheritance(
  store: ObjectStore,
  resource: ResourceSettings,
  { runId, rolledBackFrom }: Pointer,
): Promise<Inheritance> {
  const found = rolledBackFrom === undefined ? null : await store.readIfExists(rolledBackFrom.changes);
  if (rolledBackFrom === undefined || found === null) return { columns: [], reapply: [] };
  const { columns } = decodeManifest(found.body, folderOf(rolledBackFrom.changes));
  if (resource.windowMs === null) return { columns, reapply: [] };
  const folders = await listRuns(
    store,
    resource.name,
    'changes',
    await listDates(store, resource.name, 'changes'),
  );
  const reapply: ObjectKey[] = [];
  for await (const run of readChain(store, resource.name, rolledBackFrom.changes, folders)) {
    if (run.runId === runId) break;
    reapply.unshift(run.changes);
  }
  return { columns, reapply };
}
