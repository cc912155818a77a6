import type { AuditReport, ExportResult } from '../../core/contract/index.js';
import { outcomeOf, sumOfAudits } from '../../lake/documents/audit-statement.js';
import { EXIT, exitCodeOf } from '../shared/choose-exit-code.js';
import type { ConnectionSummary } from '../shared/each-connection.js';
import { count, counted } from '../shared/output.js';

const WORDS = [
  ['equal', 'equal'],
  ['different', 'different'],
  ['missing', 'missing'],
  ['extra', 'extra'],
  ['pending', 'pending'],
  ['notYetLookedFor', 'not yet looked for'],
  ['notComparable', 'not comparable'],
] as const;

const LIMITS = {
  sample: 'a sample',
  'no-fetch-by-id':
    'its rows are requested by id, which needs `fetchById: true` and a key of one field that is not masked; otherwise, leave --sample out',
  requests: '--max-requests ended it',
  'list-incomplete': 'the list was incomplete',
  'list-shifted': 'records moved between pages of the list',
  'changes-unknown': 'the changes since the checkpoint are not known',
} as const;

/** What an audit found in one resource. */
export function auditText(audit: AuditReport): string {
  const found = WORDS.flatMap(([name, word]) => (audit[name] === 0 ? [] : [`${count(audit[name])} ${word}`]));
  const partial = audit.limits.map((limit) => LIMITS[limit]);
  const text = [...found, counted(audit.cells, 'cell')].join(', ');
  return partial.length === 0 ? text : `${text} (partial: ${partial.join('; ')})`;
}

/** What the audits of several resources found together: `6,554 rows, 58,986 cells equal`. */
export function auditTotal(audits: Parameters<typeof sumOfAudits>[0]): string {
  const { rows, cells, differences } = sumOfAudits(audits);
  if (outcomeOf(audits.resources) === 'not-compared') return 'nothing compared';
  const compared = `${counted(rows, 'row')}, ${counted(cells, 'cell')}`;
  return differences === 0
    ? `${compared} equal`
    : `${compared} compared, ${counted(differences, 'difference')}`;
}

/** The audited resources, as statements and JSON name them. */
export function auditedResources({ runs }: ExportResult) {
  const resources = runs.map(({ resource: name, audit, error }) => {
    if (audit === undefined) return { name, error: error?.message ?? 'not compared' };
    const { diff: _, ...found } = audit;
    return { name, ...found };
  });
  return { resources };
}

/** The result of one connection's audit in one line. */
export function auditSummary(
  result: ExportResult,
  lines: readonly string[],
): Omit<ConnectionSummary, 'name'> {
  const code = exitCodeOf(result);
  const [failed] = result.runs.flatMap(({ error }) => error?.message ?? []);
  const detail = failed ?? auditTotal(auditedResources(result));
  return { code, problem: code !== EXIT.done, state: result.outcome, detail, lines };
}

/** The object that `audit --json` prints (docs/reference/json-output.md); `null`: the result is not of an audit. */
export function auditJson(result: ExportResult): object | null {
  const { outcome, runs, statement = null, repair } = result;
  if (statement === null) return null;
  const { resources } = auditedResources(result);
  const partial = runs.some(({ audit }) => audit === undefined || audit.limits.length > 0);
  return { outcome, resources, statement, partial, ...(repair === undefined ? {} : { repair }) };
}
