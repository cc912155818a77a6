import { ApplicationFailure, Context } from '@temporalio/activity';
import type { Activities, SweepInput, Swept } from '../../src/core/contract/index.js';
import type { Pointer } from '../../src/lake/documents/pointer.js';
import { ALL_REMOVED } from '../../src/lake/store/index.js';
import { followPointer } from '../../src/table/index.js';
import { temporalClock, withHeartbeat } from '../shared/activity-context.js';
import { passFence, readSnapshot } from '../shared/base-snapshot.js';
import type { ActivityDeps } from '../shared/deps.js';
import { tableTask } from '../shared/table-task.js';
import { sweepResource } from './sweep-resource.js';

/** What a mirror that may not write removes. Another mirror owns the lake, and sweeps it. */
const NOTHING: Swept = {
  ...{ folders: 0, staged: 0, strays: 0, uploads: 0 },
  ...{ isDone: true, refused: ALL_REMOVED },
};

/**
 * Removes the garbage of a resource after a run in the lake, or an hour after a purge. It passes the fence first, so a
 * displaced mirror removes nothing.
 */
export function createSweep(deps: ActivityDeps): Activities['worktrack.sweep'] {
  return (input) =>
    withHeartbeat(async () => {
      const { connection, resource, writer, replaced, before } = input;
      const { store, settings } = deps.connection(connection);
      const now = temporalClock()();
      const pointer = await ownPointer(deps, input);
      if (pointer === null) return NOTHING;
      const head = await readSnapshot(store, pointer);
      const signal = Context.current().cancellationSignal;
      const swept = await sweepResource(store, {
        ...{ resource, writer, head, replaced, before, now },
        ...{ settings: settings.retention, scope: 'all' },
        signal,
      });
      const { tables, retention } = settings;
      if (before === null || tables === null) return swept;
      // Data files that a late request has written since the purge.
      const task = tableTask({ store, resource, tables, retention, now: temporalClock(), signal });
      await followPointer(task);
      return swept;
    });
}

/** @returns the pointer; `null` if there is none, or this mirror may not write */
async function ownPointer(deps: ActivityDeps, input: SweepInput): Promise<Pointer | null> {
  const { store, settings } = deps.connection(input.connection);
  try {
    const { found } = await passFence(store, { ...input, baseUrl: settings.baseUrl, adopt: false });
    return found?.pointer ?? null;
  } catch (error) {
    if (error instanceof ApplicationFailure && error.type === 'Displaced') return null;
    throw error;
  }
}
