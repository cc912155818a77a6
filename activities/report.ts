import { Context } from '@temporalio/activity';
import type { RunRef } from '../src/core/contract.js';
import { folderOf, inFolder, REPORT } from '../src/lake/layout.js';
import { readHistory } from '../src/lake/run-history.js';
import { REPORTED_RUNS, renderReport, resourceReport } from '../src/report/index.js';
import type { ActivityDeps } from './deps.js';
import type { LastRun } from './last-run.js';

/**
 * Writes the report on a published run beside its manifest, for people who look into the lake. Never throws, for
 * nobody may go without an export because of it: what goes wrong is a warning in the worker's log.
 */
export async function writeReport(
  deps: ActivityDeps,
  { connection, resource }: RunRef,
  { pointer, chain }: LastRun,
): Promise<void> {
  try {
    const { store } = deps.connection(connection);
    const runs = await readHistory(chain, REPORTED_RUNS);
    const page = renderReport({
      connection,
      lake: store.url,
      madeAt: deps.now(),
      resources: [resourceReport(resource, runs)],
    });
    Context.current().cancellationSignal.throwIfAborted();
    const key = inFolder(folderOf(pointer.snapshot), REPORT);
    await store.write(key, Buffer.from(page), { contentType: 'text/html; charset=utf-8' });
  } catch (error) {
    Context.current().log.warn('the run is published, but its report could not be written', {
      error: error instanceof Error ? error.message : String(error),
    });
  }
}
