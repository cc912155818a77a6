import type { ConnectionSettings, RetentionSettings, TableSettings } from '../../core/settings.js';
import { pointerKey, tableKeys } from '../../lake/documents/lake-layout.js';
import type { RunFile } from '../../lake/documents/run-file.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { checkValues, type FixedTypes, requireParquet, type TableTask } from '../../table/index.js';
import { finalFailure } from '../failures.js';
import type { TaskResult } from '../merge-result.js';
import type { MergePlan } from '../run-journal.js';

/** The task of a table with these settings. */
export function tableTask({
  tables,
  retention,
  ...rest
}: Omit<TableTask, 'types' | 'badValues' | 'retentionMs'> & {
  readonly tables: TableSettings;
  readonly retention: RetentionSettings;
}): TableTask {
  const { badValues, codec, tempFolder } = tables;
  const types = fixedTypes(tables, rest.resource);
  return { ...rest, types, badValues, codec, tempFolder, retentionMs: retention.snapshotsMs };
}

/** The settings of a run, with the temporary folder of this worker, which may have other disks than the one that began the run. */
export function onThisWorker(tables: TableSettings, settings: WorkerSettings): TableSettings {
  return { ...tables, tempFolder: settings.tables?.tempFolder ?? null };
}

type WorkerSettings = Pick<ConnectionSettings, 'tables'>;

/** The comparison of a run's values with `tables.types`. */
export interface CheckedTypes {
  /** The types that the values were checked against, which the manifest records; `null` if there are none. */
  readonly checkedTypes: FixedTypes | null;
  /** Why the values could not be checked. */
  readonly typesProblem: string | null;
}

/** The types that the configuration sets for a resource. It accepts only types of Delta. */
export function fixedTypes({ types }: TableSettings, resource: string): FixedTypes {
  return (Object.hasOwn(types, resource) ? types[resource]! : {}) as FixedTypes;
}

/**
 * Checks the values of a run against `tables.types`, before anything is published. Parts that were carried over were
 * checked by an earlier run, unless the types changed since then.
 *
 * @throws TableError if a value does not fit
 */
export async function checkTableTypes(
  store: ObjectStore,
  run: RunFile,
  { plan, tasks }: { readonly plan: MergePlan; readonly tasks: readonly TaskResult[] },
  scope: { readonly tempFolder: string | null; readonly signal: AbortSignal },
): Promise<CheckedTypes> {
  const { tables, resource, before } = run;
  const types = tables ? fixedTypes(tables, resource.name) : {};
  if (Object.keys(types).length === 0 || tables?.badValues !== 'stop')
    return { checkedTypes: null, typesProblem: null };
  const isChanged = JSON.stringify(before?.checkedTypes) !== JSON.stringify(types);
  const parts = tasks
    .filter(({ task }) => isChanged || plan.tasks[task]!.kind === 'merge')
    .flatMap((task) => task.parts)
    .filter(({ rows }) => rows > 0);
  const { csv } = resource;
  const { columns } = plan;
  const values = { resource: resource.name, parts, columns, csv, types, ...scope };
  const typesProblem = await checkValues(store, values);
  // The next run then checks all parts.
  return { checkedTypes: typesProblem === null ? types : null, typesProblem };
}

interface TableToPurge {
  readonly resource: string;
  readonly tables: TableSettings | null;
  /** Whether the resource has a `latest.json`. */
  readonly isPublished: boolean;
  readonly signal: AbortSignal;
}

/**
 * Checks, before a purge changes anything, that it can remove the record from the table.
 *
 * @throws a failure that is not retried if it cannot
 */
export async function checkTableCanBePurged(
  store: ObjectStore,
  { resource, tables, isPublished, signal }: TableToPurge,
): Promise<void> {
  if (tables !== null) await requireParquet({ tempFolder: tables.tempFolder, signal });
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
