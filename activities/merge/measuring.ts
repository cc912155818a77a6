import { planChecks } from '../../src/lake/checks/check-plan.js';
import type { Measuring } from '../../src/lake/checks/task-meter.js';
import { continuedUniques } from '../../src/lake/checks/uniques.js';
import type { RunFile } from '../../src/lake/documents/run-file.js';
import type { MergePlan, MergeTask } from '../../src/lake/merge/plan.js';
import type { Staging } from '../shared/staging.js';

/** What a task of a merge measures for the checks of the resource; `null` if it has none. */
export function measuringOf(
  staging: Staging,
  run: RunFile,
  plan: MergePlan,
  { task, token, signal }: { readonly task: MergeTask; readonly token: string; readonly signal: AbortSignal },
): Measuring | null {
  const { resource, before } = run;
  const checks = planChecks(resource);
  if (checks === null) return null;
  return {
    plan: checks,
    form: { names: plan.columns.map(({ name }) => name), csv: resource.csv },
    continued: new Set(Object.keys(continuedUniques(checks, before))),
    keyOf: (name) => staging.key(`hashes-${task.number}-${token}-${name}.bin`),
    signal,
  };
}
