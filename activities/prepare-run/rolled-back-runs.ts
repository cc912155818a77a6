import type { ObjectKey } from '../../src/core/brands.js';
import { RunChain } from '../../src/lake/published/chain.js';
import type { Pointer } from '../../src/lake/published/pointer.js';
import type { Column } from '../../src/lake/rows/schema.js';
import type { ObjectStore } from '../../src/lake/store/index.js';

/** What the first run after a rollback uses of the rolled-back runs. */
interface RolledBackRuns {
  /** Columns are never removed, not even by a rollback (docs/explanation/semantics.md#header). */
  readonly columns: readonly Column[];
  /** Manifests of their change logs, oldest first. */
  readonly rolledBackRuns: readonly ObjectKey[];
}

/** Reads the rolled-back runs from the chain. @param pointer names the target run of the rollback */
export async function readRolledBackRuns(
  store: ObjectStore,
  resource: string,
  { runId, rolledBackFrom }: Pointer,
): Promise<RolledBackRuns> {
  const rolledBackRuns: ObjectKey[] = [];
  let columns: readonly Column[] | null = null;
  const changes = rolledBackFrom?.changes ?? null;
  for await (const run of new RunChain(store, { resource, changes })) {
    columns ??= run.manifest.columns;
    if (run.runId === runId) break;
    rolledBackRuns.unshift(run.changes);
  }
  return { columns: columns ?? [], rolledBackRuns };
}
