import { randomBytes } from 'node:crypto';
import { Context } from '@temporalio/activity';
import type { ObjectKey } from '../../src/core/brands.js';
import type { MergedParts, MergePartsInput } from '../../src/core/contract/index.js';
import { allDone, inParallel } from '../../src/core/in-parallel.js';
import { measureCarried } from '../../src/lake/checks/task-meter.js';
import { indexKey } from '../../src/lake/documents/block-index.js';
import { folderOf, inFolder, nameOf } from '../../src/lake/documents/lake-layout.js';
import type { PublishedPart } from '../../src/lake/documents/manifest.js';
import type { RunFile } from '../../src/lake/documents/run-file.js';
import { folderIn } from '../../src/lake/documents/run-file.js';
import type { MergePlan, MergeTask } from '../../src/lake/merge/merge-plan.js';
import type { BatchResult, TaskResult } from '../../src/lake/merge/merge-result.js';
import { zeroCounts } from '../../src/lake/merge/merge-result.js';
import type { Tally } from '../../src/lake/merge/merge-rows.js';
import { copyIntactPart } from '../../src/lake/part/copy-part.js';
import { readIndexBody } from '../../src/lake/part/read-index.js';
import type { SortKey } from '../../src/lake/rows/row.js';
import { withMaskingKey } from '../shared/masking-secret.js';
import { type RunAt, readRunWith, type Staging } from '../shared/staging.js';
import { measuringOf, mergeTask } from './merge-task.js';

const COPIES_AT_ONCE = 16;

/** Executes one batch of the merge plan: merges key ranges, or copies unchanged parts of the base snapshot. */
export async function mergeParts(
  { deps, connection: { settings }, staging, progress = { mergedRows: 0 } }: RunAt,
  input: MergePartsInput,
): Promise<MergedParts> {
  const { connection, resource } = input;
  const begun = performance.now();
  const [fixed, plan] = await readRunWith(staging, staging.read<MergePlan>(input.plan));
  const run = { ...fixed, resource: await withMaskingKey(settings, fixed.resource) };
  const { cancellationSignal: signal } = Context.current();
  const token = randomBytes(4).toString('hex');
  const batch = plan.batches[input.batch]!;
  const signs: Tally = { repeated: 0, found: 0 };
  const gone = plan.gone === null ? [] : await staging.read<SortKey[]>(plan.gone);
  const width = plan.tasks[batch[0]!]!.kind === 'carry' ? COPIES_AT_ONCE : 1;
  const tasks = await inParallel(batch, width, async (at): Promise<TaskResult> => {
    signal.throwIfAborted();
    const task = plan.tasks[at]!;
    const before = progress.mergedRows;
    const onRows = (rows: number): void => {
      progress.mergedRows = before + rows;
    };
    if (task.kind === 'merge')
      return {
        task: at,
        ...(await mergeTask({ staging, run, plan, task, gone, token, signal, signs, onRows })),
      };
    const carried = await carry({ staging, run, plan, token, signal }, at, task);
    progress.mergedRows += task.part.rows;
    return carried;
  });
  const name = `merged-${input.pass}-${input.batch}-${staging.attempt}.json`;
  const key = await staging.write(name, { tasks } satisfies BatchResult);
  const seconds = (performance.now() - begun) / 1000;
  deps.meter.record('mergeSeconds', seconds, { connection, resource });
  return { result: key, ...signs };
}

interface CarryInput {
  readonly staging: Staging;
  readonly run: RunFile;
  readonly plan: MergePlan;
  readonly token: string;
  readonly signal: AbortSignal;
}

/** Copies a part and its index within the store, without downloading its rows. */
async function carry(
  { staging, run, plan, token, signal }: CarryInput,
  at: number,
  task: Extract<MergeTask, { kind: 'carry' }>,
): Promise<TaskResult> {
  const { store } = staging;
  const { number, part } = task;
  const measuring = measuringOf(staging, run, plan, { task, token, signal });
  const folder = folderIn(run, 'snapshots');
  // The name keeps its token, so all attempts copy the part to the same object.
  const name = nameOf(part.key).replace(/^part-\d+/, `part-${String(number).padStart(5, '0')}`);
  const key = inFolder(folder, name);
  const [copied, measured] = await allDone([
    copyWithIndex({ staging, run, plan, token, signal }, part, key),
    measuring === null ? null : measureCarried(store, measuring, part),
  ]);
  const { checks: _, ...rest } = copied;
  const figures = measured?.part.checks;
  const copy: PublishedPart = { ...rest, ...(figures === undefined ? {} : { checks: figures }) };
  return {
    task: at,
    // A rollback has read the rows in its target, which has an equal part.
    counts: {
      ...zeroCounts(),
      ...(run.rollback === null ? { retained: part.rows } : { fetched: part.rows, unchanged: part.rows }),
      rows: part.rows,
    },
    parts: [copy],
    changes: [],
    ...(measured === null ? {} : { checks: measured.checks }),
  };
}

/**
 * Copies a part and its index within the store. The next merge relies on the index, so it is read and compared with the
 * manifest. If it is missing or damaged, the part is written once more, under a name of this attempt: its bytes may differ.
 */
async function copyWithIndex(
  { staging: { store }, run: { before }, token, signal }: CarryInput,
  part: PublishedPart,
  to: ObjectKey,
): Promise<PublishedPart> {
  const index = await readIndexBody(store, part, signal);
  if (index.state !== 'whole') {
    const { profile, columns } = before!;
    const own = inFolder(folderOf(to), nameOf(to).replace(/^(part-\d+)-[0-9a-f]+/, `$1-${token}`));
    return copyIntactPart(store, part, { ...profile, columns }, { to: own, signal });
  }
  await allDone([
    store.copy(part.key, to, part.bytes),
    store.copy(indexKey(part.key), indexKey(to), index.body.length),
  ]);
  return { ...part, key: to };
}
