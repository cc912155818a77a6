import type { ConnectionSettings } from '../core/settings.js';
import type { ObjectStore } from '../lake/store/index.js';
import { type VerifyOptions, type VerifyReport, verifySnapshot } from '../lake/verify/verify.js';
import { checkTable } from './check-table.js';

/**
 * Rereads the published data of a resource and checks every hash, count and key, and the table if the connection has
 * tables. It lists every damaged object, and changes nothing (docs/explanation/semantics.md#verification).
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
  const problems = tables === null ? [] : await checkTable(store, resource);
  if (problems.length === 0) return report;
  const recovery = [...report.recovery, 'the next export repairs the table: worktrack export'];
  return { ...report, ok: false, problems: [...report.problems, ...problems], recovery };
}
