import { planChecks } from '../../src/lake/checks/plan.js';
import type { Measuring } from '../../src/lake/checks/task-meter.js';
import { continuedUniques } from '../../src/lake/checks/uniques.js';
import type { MergePlan, MergeTask } from '../../src/lake/merge/plan.js';
import { inFolder, stagingFolder } from '../../src/lake/published/layout.js';
import type { RunFile } from '../../src/lake/run/run-file.js';

/** What a task of a merge measures for the checks of the resource; `null` if it has none. */
export function measuringOf(
  run: RunFile,
  plan: MergePlan,
  { task, token, signal }: { readonly task: MergeTask; readonly token: string; readonly signal: AbortSignal },
): Measuring | null {
  const { resource, runId, before } = run;
  const checks = planChecks(resource);
  if (checks === null) return null;
  const folder = stagingFolder(resource.name, runId);
  return {
    plan: checks,
    form: { names: plan.columns.map(({ name }) => name), csv: resource.csv },
    continued: new Set(Object.keys(continuedUniques(checks, before))),
    keyOf: (name) => inFolder(folder, `hashes-${task.number}-${token}-${name}.bin`),
    signal,
  };
}
