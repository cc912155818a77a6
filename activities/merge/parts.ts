import { randomBytes } from 'node:crypto';
import { Context } from '@temporalio/activity';
import type { Activities } from '../../src/core/contract.js';
import { inParallel } from '../../src/core/in-parallel.js';
import { dateOf, inFolder, nameOf, runFolder } from '../../src/lake/layout.js';
import type { PublishedPart } from '../../src/lake/manifest.js';
import { noCounts } from '../../src/lake/merge/merge.js';
import type { BatchResult, MergePlan, MergeTask, TaskResult } from '../../src/lake/merge/plan.js';
import { indexKey } from '../../src/lake/part/index-file.js';
import type { SortKey } from '../../src/lake/row.js';
import type { RunFile } from '../../src/lake/run-file.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import type { ActivityDeps } from '../deps.js';
import { readDocument, readRunWith, stagedKey, writeDocument } from '../documents.js';
import { heartbeating } from '../heartbeat.js';
import { mergeTask } from './task.js';

const COPIES_AT_ONCE = 16;

/** Does the tasks of one batch of the plan: merges ranges of keys, or carries unchanged parts over. */
export function createMergeParts(deps: ActivityDeps): Activities['worktrack.mergeParts'] {
  return (input) =>
    heartbeating(async () => {
      const { connection, resource } = input;
      const { store } = deps.connection(connection);
      const begun = performance.now();
      const [run, plan] = await readRunWith(store, input, readDocument<MergePlan>(store, input.plan));
      const { info, cancellationSignal: signal } = Context.current();
      const token = randomBytes(4).toString('hex');
      const batch = plan.batches[input.batch]!;
      const gone = plan.gone === null ? [] : await readDocument<SortKey[]>(store, plan.gone);
      const width = plan.tasks[batch[0]!]!.kind === 'carry' ? COPIES_AT_ONCE : 1;
      const tasks = await inParallel(batch, width, async (at): Promise<TaskResult> => {
        signal.throwIfAborted();
        const task = plan.tasks[at]!;
        if (task.kind === 'carry') return carry(store, run, at, task);
        return { task: at, ...(await mergeTask({ store, run, plan, task, gone, token, signal })) };
      });
      const key = stagedKey(input, `merged-${input.batch}-${info.attempt}.json`);
      await writeDocument(store, key, { tasks } satisfies BatchResult);
      const seconds = (performance.now() - begun) / 1000;
      deps.meter.record('mergeSeconds', seconds, { connection, resource });
      return { result: key };
    });
}

/** A server-side copy of a part and its index; its rows do not pass through here. */
async function carry(
  store: ObjectStore,
  run: RunFile,
  at: number,
  { number, part }: Extract<MergeTask, { kind: 'carry' }>,
): Promise<TaskResult> {
  const folder = runFolder(run.resource.name, 'snapshots', dateOf(run.nominalStart), run.runId);
  // Keeps its token: the same part copied twice is the same object.
  const name = nameOf(part.key).replace(/^part-\d+/, `part-${String(number).padStart(5, '0')}`);
  const copy: PublishedPart = { ...part, key: inFolder(folder, name) };
  await Promise.all([store.copy(part.key, copy.key), store.copy(indexKey(part.key), indexKey(copy.key))]);
  return {
    task: at,
    counts: { ...noCounts(), retained: part.rows, rows: part.rows },
    parts: [copy],
    changes: [],
  };
}
