import { Context } from '@temporalio/activity';
import type { RunRef } from '../src/core/contract.js';
import { folderOf, inFolder, pointerKey, REPORT } from '../src/lake/layout.js';
import { decodePointer } from '../src/lake/pointer.js';
import { readHistory } from '../src/lake/run-history.js';
import { REPORTED_RUNS, renderReport, resourceReport } from '../src/report/index.js';
import type { ActivityDeps } from './deps.js';

/**
 * Writes the report on a published run beside its manifest, for people who look into the lake. Never throws, for
 * nobody may go without an export because of it: what goes wrong is a warning in the worker's log.
 */
export async function writeReport(
  deps: ActivityDeps,
  { connection, resource, runId }: RunRef,
): Promise<void> {
  try {
    const { store } = deps.connection(connection);
    const found = await store.readIfExists(pointerKey(resource));
    const pointer = found === null ? null : decodePointer(found.body);
    // The report of a run that is not the last one any more would only surprise.
    if (pointer?.runId !== runId) return;
    const runs = await readHistory(store, { ...pointer, resource }, REPORTED_RUNS);
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
