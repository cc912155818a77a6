import { auditOutcome } from '../../core/audit-outcome.js';
import type { EpochMs, ObjectKey } from '../../core/brands.js';
import type { AuditReport, AuditRequest, RunRecord } from '../../core/contract/index.js';
import { count } from '../../core/short-text.js';
import { parseStored } from '../../core/stored-json.js';
import { toTimeStamp } from '../../core/utc-time.js';
import { collected, type ObjectStore } from '../store/index.js';

const FOLDER = '_audits/';

/** The statement of an audit (docs/how-to/audit.md#the-statement). It has no cell and no key of a record. */
export interface AuditStatement {
  /** The end of the audit, ISO 8601. */
  readonly auditedAt: string;
  readonly connection: string;
  readonly baseUrl: string;
  /** The version of worktrack. */
  readonly version: string;
  readonly outcome: 'equal' | 'different' | 'not-compared' | 'failed';
  /** Whether an audit of all rows would have compared more. */
  readonly partial: boolean;
  readonly request: AuditRequest;
  readonly resources: readonly AuditedResource[];
}

/** What a statement says of a resource; with `error`, it was not compared. */
export type AuditedResource =
  | ({ readonly name: string } & Omit<AuditReport, 'diff'>)
  | { readonly name: string; readonly error: string };

/** The statement of the audits of a connection's resources. @param at the end */
export function auditStatement(
  runs: readonly RunRecord[],
  facts: Pick<AuditStatement, 'connection' | 'baseUrl' | 'version' | 'request'> & { readonly at: EpochMs },
): AuditStatement {
  const { at, ...of } = facts;
  const resources = runs.map(({ resource: name, audit, error }): AuditedResource => {
    if (audit === undefined) return { name, error: error?.type ?? 'Failed' };
    const { diff: _, ...found } = audit;
    return { name, ...found };
  });
  const isWhole = runs.every(({ audit }) => audit?.limits.length === 0);
  const found = outcomeOf(resources);
  const outcome = found === 'different' || runs.every((run) => run.audit) ? found : 'failed';
  return { auditedAt: new Date(at).toISOString(), ...of, outcome, partial: !isWhole, resources };
}

/** What the audits of resources have found together: something is equal if one of them has compared something. */
export function outcomeOf(resources: readonly AuditedResource[]): 'equal' | 'different' | 'not-compared' {
  const all = resources.flatMap((one) => ('error' in one ? [] : [auditOutcome(one)]));
  const order = ['different', 'equal'] as const;
  return order.find((one) => all.includes(one)) ?? 'not-compared';
}

/** The key of the statement of an audit that ended at this time; `.html` is the page for people. */
export function auditKey(at: number, extension: 'json' | 'html' = 'json'): ObjectKey {
  return `${FOLDER}${toTimeStamp(at)}.${extension}` as ObjectKey;
}

/** The keys of all statements, oldest first. @throws StoreError */
export async function auditKeys(store: ObjectStore): Promise<ObjectKey[]> {
  const keys = (await collected(store.list(FOLDER))).map(({ key }) => key);
  return keys.filter((key) => key.endsWith('.json'));
}

/** The last statement in the lake; `null`: there is none. @throws StoreError; SyntaxError if it is no statement */
export async function lastAudit(store: ObjectStore): Promise<AuditStatement | null> {
  const last = (await auditKeys(store)).at(-1);
  const found = last === undefined ? null : await store.readIfExists(last);
  return found === null ? null : (parseStored(found.body) as AuditStatement);
}

/** The counts of all compared resources together. */
export function sumOfAudits({ resources }: Pick<AuditStatement, 'resources'>) {
  const sum = { rows: 0, cells: 0, differences: 0 };
  for (const one of resources) {
    if ('error' in one) continue;
    sum.rows += one.rows;
    sum.cells += one.cells;
    sum.differences += one.different + one.missing + one.extra;
  }
  return sum;
}

/** What an audit found, in a few words: `58,986 cells equal`. */
export function auditText(statement: AuditStatement): string {
  const { cells, differences } = sumOfAudits(statement);
  const failed = statement.resources.filter((one) => 'error' in one).length;
  const equal =
    outcomeOf(statement.resources) === 'not-compared' ? 'nothing compared' : `${count(cells)} cells equal`;
  const found = differences === 0 ? equal : `${count(differences)} differences`;
  const missing = failed === 0 ? [] : [`${failed} resources not compared`];
  return [found, ...missing, ...(statement.partial && failed === 0 ? ['partial'] : [])].join(', ');
}
