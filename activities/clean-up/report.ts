import { Context } from '@temporalio/activity';
import type { RunRef } from '../../src/core/contract/index.js';
import { errorMessage } from '../../src/core/errors.js';
import { folderOf, inFolder, REPORT } from '../../src/lake/published/layout.js';
import { readHistory } from '../../src/lake/published/run-history.js';
import {
  DEFAULT_MAX_AGE_MS,
  REPORTED_RUNS,
  renderReport,
  resourceReport,
  withWarnings,
} from '../../src/report/index.js';
import type { ActivityDeps } from '../shared/deps.js';
import type { LastRun } from '../shared/published-run.js';

/**
 * Writes the report of a published run next to its manifest, for people who browse the lake. Never throws, because a
 * missing report must not fail an export. An error is logged as a warning of the worker.
 *
 * @param warnings of the clean-up, which the manifest of the run cannot have
 */
export async function writeReport(
  deps: ActivityDeps,
  { connection, resource }: RunRef,
  { pointer, chain }: LastRun,
  warnings: readonly string[] = [],
): Promise<void> {
  try {
    const { store } = deps.connection(connection);
    const runs = await readHistory(chain, REPORTED_RUNS);
    const madeAt = deps.now();
    const resources = [withWarnings(resourceReport(resource, runs, { at: madeAt }), warnings)];
    const page = renderReport({
      madeAt,
      maxAgeMs: DEFAULT_MAX_AGE_MS,
      connections: [{ connection, lake: store.url, coverage: 'published', resources }],
    });
    Context.current().cancellationSignal.throwIfAborted();
    const key = inFolder(folderOf(pointer.snapshot), REPORT);
    await store.write(key, Buffer.from(page), { contentType: 'text/html; charset=utf-8' });
  } catch (error) {
    Context.current().log.warn('the run was published, but its report could not be written', {
      error: errorMessage(error),
    });
  }
}
