import type { ObjectKey } from '../../src/core/brands.js';
import type { WriteAuditInput } from '../../src/core/contract/index.js';
import { SECOND_MS } from '../../src/core/duration.js';
import { VERSION } from '../../src/core/version.js';
import { auditKey, auditStatement } from '../../src/lake/documents/audit-statement.js';
import { auditPage } from '../../src/report/index.js';
import type { ActivityDeps } from '../../src/run/deps.js';

/**
 * Writes the statement of an audit and its page for people. A repeated attempt writes the same. If another audit has ended in the
 * same second, the statement gets the next one.
 */
export async function writeAudit(
  deps: ActivityDeps,
  { connection, at, request, runs }: WriteAuditInput,
): Promise<{ readonly statement: ObjectKey }> {
  const { settings, store } = deps.connection(connection);
  const facts = { connection, baseUrl: settings.baseUrl, version: VERSION, request, at };
  const statement = auditStatement(runs, facts);
  const body = Buffer.from(`${JSON.stringify(statement, null, 2)}\n`);
  for (let end = at; ; end += SECOND_MS) {
    const key = auditKey(end);
    const { outcome } = await store.swap(key, body, 'absent');
    const isOurs = outcome === 'written' || (await store.read(key)).equals(body);
    if (!isOurs) continue;
    await store.write(auditKey(end, 'html'), Buffer.from(auditPage(statement)));
    return { statement: key };
  }
}
