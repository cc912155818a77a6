import { Context } from '@temporalio/activity';
import type { Activities, RunRef } from '../../src/core/contract/index.js';
import { RunChain, readChain } from '../../src/lake/published/chain.js';
import { stagingFolder } from '../../src/lake/published/layout.js';
import { readPointer } from '../../src/lake/published/pointer.js';
import { withHeartbeat } from '../shared/activity-context.js';
import type { ActivityDeps } from '../shared/deps.js';
import { readRunIfThere } from '../shared/documents.js';
import { finalFailure } from '../shared/failures.js';
import { folderIn } from '../shared/published-run.js';
import { removeAll, removeFolder } from '../shared/remove-folders.js';

/**
 * Removes everything that a cancelled or displaced run wrote. Does nothing if the run was published after all: then
 * `latest.json` names it or a later run in its chain, for example of a mirror that adopted the lake.
 */
export function createDiscardRun(deps: ActivityDeps): Activities['worktrack.discardRun'] {
  return (input) =>
    withHeartbeat(async () => {
      const { store } = deps.connection(input.connection);
      const { resource, runId } = input;
      const signal = Context.current().cancellationSignal;
      const pointer = await readPointer(store, resource);
      if (pointer !== null) {
        const asked = { wanted: [runId], since: null };
        const chain = await readChain(pointer, new RunChain(store, pointer), asked);
        if (chain.runs.has(runId)) return;
        if (!chain.isKnown(runId)) throw chainBroken(input);
      }
      // A short run has no run file, so the input says where its folders are.
      const nominalStart = (await readRunIfThere(store, input))?.nominalStart ?? input.nominalStart;
      if (nominalStart !== undefined) {
        for (const tree of ['snapshots', 'changes'] as const) {
          const folder = folderIn({ nominalStart, resource: { name: resource }, runId }, tree);
          await store.abortUploads(`${folder}/`);
          await removeFolder(store, folder, signal);
        }
      }
      // The staging folder is removed last: its run file names the other folders.
      const staging = `${stagingFolder(resource, runId)}/` as const;
      await store.abortUploads(staging);
      await removeAll(store, staging, signal);
    });
}

function chainBroken({ resource, runId }: RunRef): Error {
  return finalFailure(
    'Lake',
    `${resource}: it is unknown whether run ${runId} was published, because the change log of a later run is missing. ` +
      'Nothing was removed.',
  );
}
