import { RunChain } from '../../src/lake/published/chain.js';
import { dateOfRun, inFolder, MANIFEST, runFolder } from '../../src/lake/published/layout.js';
import {
  REPORTED_RUNS,
  type ReportedRun,
  shortened,
  toReportedRun,
} from '../../src/lake/published/recent-runs.js';
import { readHistory } from '../../src/lake/published/run-history.js';
import type { RunFile } from '../../src/lake/run/run-file.js';
import type { ObjectStore } from '../../src/lake/store/index.js';

/**
 * The runs before a run, newest first, for the report of a short run: reading them from the chain would take a request for
 * each. The manifest of the base snapshot has them, unless an earlier version wrote it; then they are read once.
 */
export async function recentRuns(store: ObjectStore, run: RunFile): Promise<readonly ReportedRun[]> {
  const { before, resource } = run;
  if (before === null) return [];
  if (before.recentRuns !== undefined) return before.recentRuns;
  const folder = runFolder(resource.name, 'changes', dateOfRun(before.manifest), before.runId);
  const chain = new RunChain(store, { resource: resource.name, changes: inFolder(folder, MANIFEST) });
  const runs = await readHistory(chain, REPORTED_RUNS - 1);
  return runs.map((one, at) => shortened(toReportedRun(one, runs[at + 1])));
}
