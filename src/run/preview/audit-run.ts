import type { Audited, AuditLimit, AuditReport } from '../../core/contract/index.js';
import { sha256Of } from '../../lake/documents/checksums.js';
import type { RunFile } from '../../lake/documents/run-file.js';
import type { Stage } from '../../lake/documents/stage-file.js';
import { sumOfTallies, type TaskTally } from '../audit-tally.js';
import { finalFailure } from '../failures.js';
import type { MergePlan } from '../run-journal.js';
import type { Merged, RunAt } from '../staging.js';
import { removeStaged, useOfRun } from './dry-staging.js';
import { writeDiff } from './write-diff.js';

/**
 * Ends an audit (docs/how-to/audit.md): it verifies that each row was counted, and removes what is staged, apart from the diff.
 *
 * @throws a final failure if the counts do not match
 */
export async function auditRun(at: RunAt, merged: Merged, shifted: boolean): Promise<Audited> {
  const { staging } = at;
  const { stages, plan, results } = merged;
  const { run } = merged.journal;
  const tasks = results.flatMap((result) => result.tasks);
  const tally = sumOfTallies(tasks.flatMap(({ audit }) => audit ?? []));
  const before = run.before!;
  verify(run, tally, stages.at(-1)!);
  const changes = [...tasks].sort((a, b) => a.task - b.task).flatMap((task) => task.changes);
  const { rows, cells, equal, different, missing, extra, pending, notYetLookedFor, notComparable } = tally;
  const audit: AuditReport = {
    ...{ rows, cells, equal, different, missing, extra, pending, notYetLookedFor, notComparable },
    runId: before.runId,
    snapshot: { key: before.manifest, sha256: sha256Of(await staging.store.read(before.manifest)) },
    checkpoint: run.checkpoint,
    keptNewer: tally.keptNewer,
    limits: limitsOf(run, plan, { stages, shifted, tally }),
    readings: readingsOf(run, stages),
    ...(await useOfRun(staging)),
    diff: await writeDiff(at, run, { parts: changes, columns: plan.columns }),
  };
  await removeStaged(staging);
  return { audit };
}

/** Each row of the snapshot and each record must have been judged once. */
function verify({ before, resource: { name } }: RunFile, tally: TaskTally, stage: Stage): void {
  const { fetched, duplicates, quarantined, thin, ignored } = stage;
  const judged =
    tally.equal + tally.different + tally.extra + tally.pending + tally.notYetLookedFor + tally.notComparable;
  const checks: readonly [string, number, number][] = [
    ['rows of the snapshot and rows compared', before!.rows, tally.before],
    ['rows compared and rows of the audit + others', tally.before, tally.rows + tally.unseen],
    [
      'records fetched and compared',
      fetched - duplicates - quarantined - thin.records - ignored,
      tally.fetched,
    ],
    ['rows of the audit and rows judged', tally.rows, judged - tally.without],
  ];
  const wrong = checks.filter(([, left, right]) => left !== right);
  if (wrong.length === 0) return;
  const problem = wrong.map(([what, left, right]) => `${what}: ${left} and ${right}`).join('; ');
  throw finalFailure(
    'VerificationFailed',
    `${name}: the row counts of the audit do not match: ${problem}. Run it again. If this error repeats, report it with this message.`,
  );
}

function limitsOf(
  { audit, reconcile }: RunFile,
  { isCut, increments }: MergePlan,
  found: { readonly stages: readonly Stage[]; readonly shifted: boolean; readonly tally: TaskTally },
): AuditLimit[] {
  const { stages, shifted, tally } = found;
  const { doubts, isBlank } = stages.at(-1)!;
  // The requests by id may have been too few for all rows.
  const isShort = audit!.most !== undefined && tally.notComparable > 0;
  const limits: readonly [AuditLimit, boolean][] = [
    ['sample', audit!.sample !== undefined],
    ['no-fetch-by-id', audit!.sample !== undefined && !reconcile],
    ['requests', isCut === true || isShort],
    // A statement counts a total that nothing has confirmed, too.
    ['list-incomplete', isBlank || doubts.some(({ kind }) => kind !== 'cut')],
    ['list-shifted', shifted],
    ['changes-unknown', increments === undefined],
  ];
  return limits.flatMap(([limit, applies]) => (applies ? [limit] : []));
}

/** How often the list was read, or the rows of the sample were. */
function readingsOf({ audit }: RunFile, stages: readonly Stage[]): number {
  const isReading = ({ kind, isById }: Stage): boolean =>
    audit!.sample === undefined ? kind !== 'catch-up' : isById === true;
  return Math.max(1, new Set(stages.filter(isReading).map(({ read }) => read)).size);
}
