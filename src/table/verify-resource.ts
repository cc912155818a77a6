import type { ConnectionSettings } from '../core/settings.js';
import type { ObjectStore } from '../lake/store/index.js';
import { type VerifyOptions, type VerifyReport, verifySnapshot } from '../lake/verify/verify.js';
import { findTableProblems, type TableProblem } from './check-table.js';
import { tablePrefix } from './log/names.js';

/**
 * Rereads the published data of a resource and checks every hash, count and key, and the table if the connection has
 * tables. It lists every damaged object, and changes nothing (docs/explanation/guarantees.md#verification).
 *
 * @throws StoreError if the store is unavailable, which says nothing about the data
 * @example
 * const { ok, problems, recovery } = await verifyResource(store, connection, 'tasks');
 * if (!ok) console.error([...problems, ...recovery].join('\n'));
 */
export async function verifyResource(
  store: ObjectStore,
  {
    tables,
    resources = [],
  }: Pick<ConnectionSettings, 'tables'> & Partial<Pick<ConnectionSettings, 'resources'>>,
  resource: string,
  options: VerifyOptions = {},
): Promise<VerifyReport> {
  const checks = resources.find(({ name }) => name === resource)?.checks;
  const report = await verifySnapshot(store, resource, { checks, ...options });
  const found = tables === null ? [] : await findTableProblems(store, resource);
  if (found.length === 0) return report;
  const problems = [...report.problems, ...found.map(({ text }) => text)];
  const recovery = [...report.recovery, ...recoveryOfTable(resource, found, report)];
  return { ...report, ok: false, problems, recovery };
}

/** Says only what is true: the next export repairs a table that it can write, from a snapshot that it can read. */
function recoveryOfTable(
  resource: string,
  found: readonly TableProblem[],
  { earlier }: Pick<VerifyReport, 'earlier'>,
): string[] {
  const isOf = (by: TableProblem['repairedBy']): boolean => found.some(({ repairedBy }) => repairedBy === by);
  if (isOf('removal'))
    return [
      `remove the folder ${tablePrefix(resource)}; the next export then writes a new table: worktrack export`,
    ];
  return [
    ...(isOf('purge')
      ? [`repeat the purge of the record: worktrack purge --resource ${resource} --key KEY`]
      : []),
    ...(isOf('export')
      ? [
          earlier === null
            ? 'the next export repairs the table: worktrack export'
            : 'once the snapshot is intact again, the next export repairs the table: worktrack export',
        ]
      : []),
  ];
}
