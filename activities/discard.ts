import type { Activities } from '../src/core/contract.js';
import { dateOf, pointerKey, runFolder, stagingFolder } from '../src/lake/layout.js';
import { decodePointer } from '../src/lake/pointer.js';
import type { ActivityDeps } from './deps.js';
import { readRunIfThere } from './documents.js';
import { heartbeating } from './heartbeat.js';
import { removeAll } from './remove.js';

/** Removes everything that a cancelled run wrote. Does nothing to a run that was published all the same. */
export function createDiscardRun(deps: ActivityDeps): Activities['worktrack.discardRun'] {
  return (input) =>
    heartbeating(async () => {
      const { store } = deps.connection(input.connection);
      const { resource, runId } = input;
      const pointer = await store.readIfExists(pointerKey(resource));
      if (pointer !== null && decodePointer(pointer.body).runId === runId) return;
      const run = await readRunIfThere(store, input);
      const staging = `${stagingFolder(resource, runId)}/`;
      const folders = (['snapshots', 'changes'] as const).map(
        (tree) => `${runFolder(resource, tree, dateOf(run?.nominalStart ?? 0), runId)}/`,
      );
      // The staging folder last: it says where the others are.
      for (const folder of run === null ? [staging] : [...folders, staging]) {
        await store.abortUploads(folder);
        await removeAll(store, folder);
      }
    });
}
