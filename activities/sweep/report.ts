import { Context } from '@temporalio/activity';
import type { ObjectKey } from '../../src/core/brands.js';
import { errorMessage } from '../../src/core/errors.js';
import { folderOf, inFolder, REPORT } from '../../src/lake/published/layout.js';
import type { Manifest } from '../../src/lake/published/manifest.js';
import { toReportedRun } from '../../src/lake/published/recent-runs.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { DEFAULT_MAX_AGE_MS, recentReport, renderReport, withWarnings } from '../../src/report/index.js';
import type { ActivityDeps } from '../shared/deps.js';

interface ToReport {
  readonly connection: string;
  readonly resource: string;
  /** Key of the snapshot's manifest. */
  readonly snapshot: ObjectKey;
  readonly manifest: Manifest;
}

/**
 * Writes the report of a published run next to its manifest, for people who browse the lake. The manifest has all that it
 * shows, apart from warnings of the sweep. Never throws, because a missing report must not fail a published run. An error is logged as a warning of the worker.
 */
export async function writeReport(
  deps: ActivityDeps,
  store: ObjectStore,
  { connection, resource, snapshot, manifest }: ToReport,
  warnings: readonly string[] = [],
): Promise<void> {
  try {
    const madeAt = deps.now();
    const runs = [toReportedRun(manifest, undefined), ...(manifest.recentRuns ?? [])];
    const resources = [withWarnings(recentReport(resource, runs, madeAt), warnings)];
    const page = renderReport({
      madeAt,
      maxAgeMs: DEFAULT_MAX_AGE_MS,
      connections: [{ connection, lake: store.url, coverage: 'published', resources }],
    });
    Context.current().cancellationSignal.throwIfAborted();
    const body = Buffer.from(page);
    const key = inFolder(folderOf(snapshot), REPORT);
    await store.write(key, body, { contentType: 'text/html; charset=utf-8' });
  } catch (error) {
    Context.current().log.warn('the run was published, but its report could not be written', {
      error: errorMessage(error),
    });
  }
}
