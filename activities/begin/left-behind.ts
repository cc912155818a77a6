import type { ObjectKey } from '../../src/core/brands.js';
import { RunChain } from '../../src/lake/chain.js';
import type { Pointer } from '../../src/lake/pointer.js';
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
  const leftBehind: ObjectKey[] = [];
  let columns: readonly Column[] | null = null;
  const changes = rolledBackFrom?.changes ?? null;
  for await (const run of new RunChain(store, { resource, changes })) {
    columns ??= run.manifest.columns;
    if (run.runId === runId) break;
    leftBehind.unshift(run.changes);
  }
  return { columns: columns ?? [], leftBehind };
}
