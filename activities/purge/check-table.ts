import type { TableSettings } from '../../src/core/settings.js';
import { pointerKey } from '../../src/lake/documents/lake-layout.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { parquetLibrary, tablePrefix } from '../../src/table/index.js';
import { finalFailure } from '../shared/failures.js';

export interface TableToPurge {
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
  if (tables !== null) await parquetLibrary();
  if (tables !== null && isPublished) return;
  for await (const _ of store.list(tablePrefix(resource))) {
    const [why, remedy] =
      tables === null
        ? ['tables.format is none', 'Set tables.format to delta, or remove the folder']
        : [`${pointerKey(resource)} is missing`, 'Restore it, or remove the folder'];
    throw finalFailure(
      'Configuration',
      `${resource}: the lake has a table at ${tablePrefix(resource)}, but ${why}, so the purge cannot remove ` +
        `the record from it. Nothing was changed. ${remedy}, and run the purge again.`,
    );
  }
}
