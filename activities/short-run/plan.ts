import { ApplicationFailure, Context } from '@temporalio/activity';
import type { ObjectKey } from '../../src/core/brands.js';
import type { PreparedRun, RunRef, ShortRunInput } from '../../src/core/contract/index.js';
import { sizeToTry } from '../../src/core/page-size.js';
import type { MergePlan } from '../../src/lake/merge/plan.js';
import { type AttemptStore, HandOver } from '../../src/lake/store/index.js';
import { createExtractPages } from '../extract/extract-pages.js';
import { createPlanMerge } from '../merge/plan.js';
import { createPrepareRun } from '../prepare-run/prepare-run.js';
import { ActivityAge, finalIfLate, withHeartbeat } from '../shared/activity-context.js';
import type { ActivityDeps } from '../shared/deps.js';
import { readDocument, readRun } from '../shared/documents.js';
import { toFailure } from '../shared/failures.js';
import { holdBasePart } from './base-part.js';

/** A larger part of the base snapshot is merged by the separate steps, in bytes as stored. */
const MAX_MERGED_BYTES = 4 * 1024 * 1024;
/** A larger part is copied by the separate steps. */
const MAX_COPIED_BYTES = 64 * 1024 * 1024;

type Planned =
  | { readonly kind: 'handed-over'; readonly reason: string }
  | {
      readonly kind: 'planned';
      readonly ref: RunRef;
      readonly stage: ObjectKey;
      readonly plan: ObjectKey;
      readonly batches: number;
      readonly pageSize: { readonly configured: number; readonly used: number };
    };

/**
 * The part of a short run that writes nothing: it prepares the run, reads one page, and plans the merge. A failure hands
 * over as well, so that the separate steps handle it. Exceptions are a final failure of the reading, because repeating it
 * would only send the service the same requests again, and a failure with a wait that the service requested.
 *
 * @param input with the run id of this attempt
 * @throws the failure of the reading if it is final or has a wait; the reason of a cancellation
 */
export async function planShortRun(
  deps: ActivityDeps,
  store: AttemptStore,
  input: ShortRunInput,
): Promise<Planned> {
  const progress = { isReading: false };
  const age = new ActivityAge();
  const giveUpAfterMs = (): number => deps.connection(input.connection).settings.retries.giveUpAfterMs;
  try {
    return await plan(deps, store, input, progress);
  } catch (error) {
    if (error instanceof HandOver) return { kind: 'handed-over', reason: error.reason };
    Context.current().cancellationSignal.throwIfAborted();
    const failure = finalIfLate(toFailure(error), age, giveUpAfterMs);
    if (progress.isReading && failure instanceof ApplicationFailure) {
      const hasToWait = failure.nextRetryDelay !== undefined && failure.nextRetryDelay !== null;
      if (failure.nonRetryable || hasToWait) throw failure;
    }
    return { kind: 'handed-over', reason: 'a step failed' };
  }
}

async function plan(
  deps: ActivityDeps,
  store: AttemptStore,
  { pageSize: known, ...input }: ShortRunInput,
  progress: { isReading: boolean },
): Promise<Planned> {
  const { connection, resource, runId, allowDeletes } = input;
  const ref: RunRef = { connection, resource, runId };
  const prepared = await createPrepareRun(deps)(input);
  const run = await readRun(store, ref);
  if (run.before === null || run.before.runId !== input.publishedRunId)
    throw new HandOver('the base changed');
  checkPrepared(prepared);
  if (run.before.parts.length > 1) throw new HandOver('the snapshot has several parts');

  const tried = sizeToTry(known, prepared.pageSize);
  progress.isReading = true;
  const read = { number: 0, kind: 'list' } as const;
  const extracted = await createExtractPages(deps)({ ...ref, call: 0, after: null, pageSize: tried, read });
  progress.isReading = false;
  if (!extracted.done) throw new HandOver('the list has more than one page');
  if (extracted.shifted) throw new HandOver('the list shifted');

  const [part] = run.before.parts;
  if (part !== undefined) await withHeartbeat(() => holdBasePart(store, run, part));
  const { stage } = extracted;
  const planned = await createPlanMerge(deps)({ ...ref, stage, pass: 0, gone: null, allowDeletes });
  if (planned.repeated > 0) throw new HandOver('the list repeats a record');
  const { tasks } = await readDocument<MergePlan>(store, planned.plan);
  if (tasks.length > 1) throw new HandOver('the merge has several parts');
  const limit = tasks[0]?.kind === 'merge' ? MAX_MERGED_BYTES : MAX_COPIED_BYTES;
  if ((part?.bytes ?? 0) > limit) throw new HandOver('the snapshot is large');
  const pageSize = { configured: prepared.pageSize, used: extracted.pageSize };
  return { kind: 'planned', ref, stage, plan: planned.plan, batches: planned.batches, pageSize };
}

/** The steps of these runs differ, or are more than a short run has. @throws HandOver */
function checkPrepared(prepared: PreparedRun): void {
  if (prepared.mode !== 'increment') throw new HandOver('it reads everything');
  if (prepared.reconcile) throw new HandOver('it detects deletes');
  if (prepared.resumed !== null) throw new HandOver('it resumes from the pages of a failed run');
  if (prepared.table) throw new HandOver('the resource has a table');
  if (prepared.onPublished) throw new HandOver('it starts a workflow');
}
