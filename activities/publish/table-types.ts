import type { RunFile } from '../../src/lake/documents/run-file.js';
import type { BatchResult, MergePlan } from '../../src/lake/merge/plan.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { checkValues, type FixedTypes } from '../../src/table/index.js';
import { fixedTypes } from '../shared/table-task.js';

/**
 * Checks the values of a run against `tables.types`, before anything is published. Parts that were carried over were
 * checked by an earlier run, unless the types changed since then.
 *
 * @returns the types that the values were checked against, which the manifest records; `null` if there are none
 * @throws TableError if a value does not fit
 */
export async function checkTableTypes(
  store: ObjectStore,
  run: RunFile,
  {
    plan,
    results,
    signal,
  }: {
    readonly plan: MergePlan;
    readonly results: readonly BatchResult[];
    readonly signal: AbortSignal;
  },
): Promise<FixedTypes | null> {
  const { tables, resource, before } = run;
  const types = tables ? fixedTypes(tables, resource.name) : {};
  if (Object.keys(types).length === 0 || tables?.badValues !== 'stop') return null;
  const isChanged = JSON.stringify(before?.checkedTypes) !== JSON.stringify(types);
  const tasks = results.flatMap((result) => result.tasks);
  const parts = tasks
    .filter(({ task }) => isChanged || plan.tasks[task]!.kind === 'merge')
    .flatMap((task) => task.parts)
    .filter(({ rows }) => rows > 0);
  const { csv } = resource;
  await checkValues(store, { resource: resource.name, parts, columns: plan.columns, csv, types, signal });
  return types;
}
