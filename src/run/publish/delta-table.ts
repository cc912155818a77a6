import type { RetentionSettings, TableSettings } from '../../core/settings.js';
import { pointerKey } from '../../lake/documents/lake-layout.js';
import type { RunFile } from '../../lake/documents/run-file.js';
import type { ObjectStore } from '../../lake/store/index.js';
import {
  checkValues,
  type FixedTypes,
  requireParquet,
  type TableTask,
  tableKeys,
} from '../../table/index.js';
import { finalFailure } from '../failures.js';
import type { MergePlan } from '../merge/merge-plan.js';
import type { TaskResult } from '../merge/merge-result.js';

/** The task of a table with these settings. */
export function tableTask({
  tables,
  retention,
  ...rest
}: Omit<TableTask, 'types' | 'badValues' | 'retentionMs'> & {
  readonly tables: TableSettings;
  readonly retention: RetentionSettings;
}): TableTask {
  const { badValues } = tables;
  return { ...rest, types: fixedTypes(tables, rest.resource), badValues, retentionMs: retention.snapshotsMs };
}

/** The types that the configuration sets for a resource. It accepts only types of Delta. */
export function fixedTypes({ types }: TableSettings, resource: string): FixedTypes {
  return (Object.hasOwn(types, resource) ? types[resource]! : {}) as FixedTypes;
}

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
  { plan, tasks }: { readonly plan: MergePlan; readonly tasks: readonly TaskResult[] },
  signal: AbortSignal,
): Promise<FixedTypes | null> {
  const { tables, resource, before } = run;
  const types = tables ? fixedTypes(tables, resource.name) : {};
  if (Object.keys(types).length === 0 || tables?.badValues !== 'stop') return null;
  const isChanged = JSON.stringify(before?.checkedTypes) !== JSON.stringify(types);
  const parts = tasks
    .filter(({ task }) => isChanged || plan.tasks[task]!.kind === 'merge')
    .flatMap((task) => task.parts)
    .filter(({ rows }) => rows > 0);
  const { csv } = resource;
  await checkValues(store, { resource: resource.name, parts, columns: plan.columns, csv, types, signal });
  return types;
}

interface TableToPurge {
  readonly resource: string;
  readonly tables: TableSettings | null;
  /** Whether the resource has a `latest.json`. */
  readonly isPublished: boolean;
}

/**
 * Checks, before a purge changes anything, that it can remove the record from the table.
 *
 * @throws a failure that is not retried if it cannot
 */
export async function checkTableCanBePurged(
  store: ObjectStore,
  { resource, tables, isPublished }: TableToPurge,
): Promise<void> {
  if (tables !== null) requireParquet();
  if (tables !== null && isPublished) return;
  for await (const _ of store.list(tableKeys(resource).prefix)) {
    const [why, remedy] =
      tables === null
        ? ['tables.format is none', 'Set tables.format to delta, or remove the folder']
        : [`${pointerKey(resource)} is missing`, 'Restore it, or remove the folder'];
    throw finalFailure(
      'Configuration',
      `${resource}: the lake has a table at ${tableKeys(resource).prefix}, but ${why}, so the purge cannot remove ` +
        `the record from it. Nothing was changed. ${remedy}, and run the purge again.`,
    );
  }
}
