import type { AuditReport } from './contract/index.js';

/** What an audit has found. One that could compare no row has found nothing equal, unless there is no row. */
export function auditOutcome(audit: Omit<AuditReport, 'diff'>): 'equal' | 'different' | 'not-compared' {
  const { equal, different, missing, extra, pending, notYetLookedFor, notComparable, limits } = audit;
  if (different + missing + extra > 0) return 'different';
  const isEmpty = pending + notYetLookedFor + notComparable + limits.length === 0;
  return equal > 0 || isEmpty ? 'equal' : 'not-compared';
}
