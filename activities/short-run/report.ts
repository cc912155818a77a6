import { Context } from '@temporalio/activity';
import type { ObjectKey } from '../../src/core/brands.js';
import { errorMessage } from '../../src/core/errors.js';
import { folderOf, inFolder, REPORT } from '../../src/lake/published/layout.js';
import { decodeManifest } from '../../src/lake/published/manifest.js';
import { type ReportedRun, toReportedRun } from '../../src/lake/published/recent-runs.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { DEFAULT_MAX_AGE_MS, recentReport, renderReport } from '../../src/report/index.js';
import type { ActivityDeps } from '../shared/deps.js';

/**
 * Writes the report of a short run, from what its manifest says about the recent runs. Never throws, because a missing
 * report must not fail a published run.
 *
 * @returns the runs that it shows, newest first; `null` if it is not written, and the clean-up has to write it
 */
export async function reportShortRun(
  deps: ActivityDeps,
  store: ObjectStore,
  {
    connection,
    resource,
    snapshot,
  }: { readonly connection: string; readonly resource: string; readonly snapshot: ObjectKey },
): Promise<readonly ReportedRun[] | null> {
  try {
    const folder = folderOf(snapshot);
    const manifest = decodeManifest(await store.read(snapshot), folder);
    const madeAt = deps.now();
    const runs = [toReportedRun(manifest, undefined), ...(manifest.recentRuns ?? [])];
    const page = renderReport({
      madeAt,
      maxAgeMs: DEFAULT_MAX_AGE_MS,
      connections: [
        {
          connection,
          lake: store.url,
          coverage: 'published',
          resources: [recentReport(resource, runs, madeAt)],
        },
      ],
    });
    Context.current().cancellationSignal.throwIfAborted();
    const body = Buffer.from(page);
    await store.write(inFolder(folder, REPORT), body, { contentType: 'text/html; charset=utf-8' });
    return runs;
  } catch (error) {
    Context.current().log.warn('the run was published, but its report could not be written', {
      error: errorMessage(error),
    });
    return null;
  }
}
