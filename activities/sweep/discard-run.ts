import { Context } from '@temporalio/activity';
import type { Activities } from '../../src/core/contract/index.js';
import { wasPublished } from '../../src/lake/published/chain.js';
import { stagingFolder } from '../../src/lake/published/layout.js';
import { readPointer } from '../../src/lake/published/pointer.js';
import { withHeartbeat } from '../shared/activity-context.js';
import type { ActivityDeps } from '../shared/deps.js';
import { folderIn } from '../shared/published-run.js';
import { removeAll, removeFolder } from '../shared/remove-folders.js';

/**
 * Removes what a run wrote that failed before it sent its swap. Does nothing if the run was published after all: then
 * `latest.json` names it or a later run in its chain, for example of a mirror that adopted the lake.
 */
export function createDiscardRun(deps: ActivityDeps): Activities['worktrack.discardRun'] {
  return (input) =>
    withHeartbeat(async () => {
      const { store } = deps.connection(input.connection);
      const { resource, runId, nominalStart, staging } = input;
      const signal = Context.current().cancellationSignal;
      const pointer = await readPointer(store, resource);
      if (pointer !== null && (await wasPublished(store, pointer, runId))) return;
      for (const tree of ['snapshots', 'changes'] as const) {
        const folder = folderIn({ nominalStart, resource: { name: resource }, runId }, tree);
        await store.abortUploads(`${folder}/`);
        await removeFolder(store, folder, signal);
      }
      if (staging === 'kept') return;
      const staged = `${stagingFolder(resource, runId)}/` as const;
      await store.abortUploads(staged);
      await removeAll(store, staged, signal);
    });
}
