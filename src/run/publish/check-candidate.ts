import type { Meter } from '../../core/metrics.js';
import { cutText } from '../../core/text-budget.js';
import type { Warning } from '../../core/warnings.js';
import { addFigures, LIVE, measureId, planChecks } from '../../lake/checks/check-plan.js';
import { judgeChecks } from '../../lake/checks/judge.js';
import { compareValues } from '../../lake/checks/shared-values.js';
import {
  type CheckRecord,
  type CheckResult,
  daysOf,
  limitedNames,
  withDay,
} from '../../lake/documents/check-record.js';
import { dateOf } from '../../lake/documents/lake-layout.js';
import { type RunFile, shownId } from '../../lake/documents/run-file.js';
import { finalFailure } from '../failures.js';
import type { AddedUp, TaskResult } from '../merge-result.js';
import { removeRun } from '../remove-folders.js';
import type { MergePlan } from '../run-journal.js';
import type { Staging } from '../staging.js';

interface ToCheck {
  readonly plan: MergePlan;
  readonly tasks: readonly TaskResult[];
  readonly sum: AddedUp;
  readonly meter: Meter;
  readonly signal: AbortSignal;
}

/** A candidate that may be published. */
export interface CheckedCandidate {
  readonly record: CheckRecord;
  readonly warnings: readonly Warning[];
}

/**
 * Judges the snapshot that a run is about to publish (docs/how-to/checks.md).
 *
 * @returns `null` if the resource has no checks
 * @throws a final failure `Check` if a check stops the run. The run's folders are removed first, so that no query reads them.
 */
export async function checkCandidate(
  staging: Staging,
  run: RunFile,
  { plan, tasks, sum, meter, signal }: ToCheck,
): Promise<CheckedCandidate | null> {
  const { store } = staging;
  const { resource } = run;
  const checks = planChecks(resource);
  if (checks === null) return null;
  const { measures } = checks;
  const ofParts = sum.parts.map((part) => part.checks ?? {});
  const ofTasks = tasks.map((task) => task.checks?.run ?? {});
  const figures = {
    snapshot: addFigures(measures.snapshot, ofParts),
    run: measures.run.length === 0 ? null : addFigures(measures.run, ofTasks),
  };
  const names = plan.columns.map(({ name }) => name);
  const form = { names, csv: resource.csv };
  const uniques = await compareValues({
    ...{ store, plan: checks, base: run.before, parts: sum.parts, form, signal },
    ofRun: tasks.flatMap((task) => task.checks?.values ?? []),
  });
  const dt = dateOf(run.nominalStart);
  const judged = judgeChecks(
    resource.checks,
    checks,
    {
      ...{ figures, names, dt, shared: uniques.shared, startedAt: run.startedAt },
      ...{ inserted: sum.counts.inserted, deleted: sum.counts.deleted },
      days: daysOf(run.before?.measured),
    },
    { acceptedBy: run.acceptChecks ?? null, mayStop: run.rollback === null },
  );
  countOutcomes(meter, run, judged);
  const failed = judged.filter(({ outcome }) => outcome === 'failed');
  if (failed.length > 0) {
    // Objects of a failed run stay for later attempts, but a run that a check has stopped has none.
    await removeRun(store, run, signal);
    throw checkFailure(run, failed);
  }
  const fetched = figures.run?.[measureId(checks, LIVE)];
  return {
    record: {
      results: judged,
      measured: withDay(run.before?.measured, {
        dt,
        rows: figures.snapshot[measureId(checks, LIVE)] ?? 0,
        ...(fetched === undefined || fetched === null ? {} : { fetched }),
        accepted: judged.filter(({ outcome }) => outcome === 'accepted').map(({ name }) => name),
      }),
      uniques: uniques.states,
    },
    warnings: judged.flatMap(warningOf),
  };
}

function countOutcomes(meter: Meter, run: RunFile, judged: readonly CheckResult[]): void {
  const { connection, resource } = run;
  for (const outcome of ['passed', 'warned', 'failed', 'accepted', 'skipped'] as const) {
    const number = judged.filter((one) => one.outcome === outcome).length;
    if (number > 0) meter.record('checks', number, { connection, resource: resource.name, outcome });
  }
}

/** Results that a message describes in full; of the others, it lists the names. */
const MOST_SHOWN = 4;
const MAX_NAMES_BYTES = 500;

function checkFailure(run: RunFile, failed: readonly CheckResult[]): Error {
  const { name } = run.resource;
  const shown = failed.slice(0, MOST_SHOWN).map(resultText);
  const others = failed.slice(MOST_SHOWN).map((one) => one.name);
  const more = others.length === 0 ? '' : cutText(` Also failed: ${others.join(', ')}.`, MAX_NAMES_BYTES);
  const what = failed.length === 1 ? 'a check failed' : `${failed.length} checks failed`;
  return finalFailure(
    'Check',
    `${name}: ${what}, so run ${shownId(run)} was not published. ${shown.join('. ')}.${more} The next run reads the same changes again. ` +
      `To publish once in spite of it: worktrack export --resource ${name} --accept-checks`,
    { resource: name, checks: limitedNames(failed) },
  );
}

function resultText({ name, allowed, found }: CheckResult): string {
  return `${name}: allowed ${allowed}; found ${found}`;
}

function warningOf(result: CheckResult): Warning[] {
  const { outcome, name, allowed, found } = result;
  if (outcome !== 'warned' && outcome !== 'accepted') return [];
  return [
    { kind: 'check', name, allowed, found, acceptedBy: outcome === 'accepted' ? result.acceptedBy : null },
  ];
}
