import type { ObjectKey } from '../../src/core/brands.js';
import { RunChain } from '../../src/lake/published/chain.js';
import type { Manifest } from '../../src/lake/published/manifest.js';
import type { Pointer } from '../../src/lake/published/pointer.js';
import type { Column } from '../../src/lake/rows/schema.js';
import type { Shape } from '../../src/lake/rows/shapes.js';
import type { ObjectStore } from '../../src/lake/store/index.js';

/** What the first run after a rollback uses of the rolled-back runs. */
export interface RolledBackRuns {
  /** Columns are never removed, not even by a rollback (docs/explanation/semantics.md#header). */
  readonly columns: readonly Column[];
  /** Manifests of their change logs, oldest first. */
  readonly rolledBackRuns: readonly ObjectKey[];
  /** What shaped the rows of the newest of them; `null` for none. */
  readonly shapes: readonly Shape[] | null;
  /** When the newest of them began, milliseconds since 1970; 0 for none. */
  readonly startedAt: number;
}

/** Reads the rolled-back runs from the chain. @param pointer names the target run of the rollback */
export async function readRolledBackRuns(
  store: ObjectStore,
  resource: string,
  { runId, rolledBackFrom }: Pointer,
): Promise<RolledBackRuns> {
  const rolledBackRuns: ObjectKey[] = [];
  let newest: Manifest | null = null;
  const changes = rolledBackFrom?.changes ?? null;
  for await (const run of new RunChain(store, { resource, changes })) {
    newest ??= run.manifest;
    if (run.runId === runId) break;
    rolledBackRuns.unshift(run.changes);
  }
  return {
    ...{ columns: newest?.columns ?? [], shapes: newest?.shapes ?? null, rolledBackRuns },
    startedAt: newest === null ? 0 : Date.parse(newest.startedAt),
  };
}
