import { Context } from '@temporalio/activity';
import type { ObjectKey } from '../../src/core/brands.js';
import type { Activities } from '../../src/core/contract/index.js';
import type { PlanWriteBackInput, WrittenResults } from '../../src/core/contract/write-back.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import {
  BatchPlanner,
  checkBatch,
  chunkRows,
  type InputColumn,
  type InputRow,
  kindOf,
  type PlanFile,
  planKey,
  planName,
  publishedColumns,
  readBatch,
  readRows,
  type Summary,
  summaryKey,
  textColumns,
  typesOf,
} from '../../src/write-back/index.js';
import { withHeartbeat } from '../shared/activity-context.js';
import type { ActivityDeps } from '../shared/deps.js';
import { writeDocument } from '../shared/documents.js';
import { ChunkWriter } from './chunk-writer.js';
import { EarlierRows, withEarlierOutcome } from './earlier-rows.js';
import { readStoredPlans, type StoredPlan, writeBatchFile } from './stored-plans.js';

/**
 * Reads the input of a batch and decides which rows are sent, with which idempotency key and body. Nothing is sent here,
 * and any error in the input ends the batch. If the last plan has the same input, it is reused.
 */
export function createPlanWriteBack(deps: ActivityDeps): Activities['worktrack.planWriteBack'] {
  return (input) =>
    withHeartbeat(async () => {
      const { settings, store } = deps.connection(input.connection);
      const plans = await readStoredPlans(store, input.batchId);
      const last = plans.at(-1);
      const begun = await readBatch(store, input.batchId);
      if (begun !== null) checkBatch(input.batchId, begun.file, { ...input, kind: kindOf(input.format) });
      const plan = last?.file.input === input.input ? last : await makePlan(store, input, plans);
      return {
        plan: plan.key,
        rows: plan.file.rows,
        results: await finalResults(store, input.batchId, plan.key),
        mirrored: settings.resources.some(({ name }) => name === input.resource),
        giveUpAfterMs: settings.retries.giveUpAfterMs,
      };
    });
}

async function finalResults(
  store: ObjectStore,
  batchId: string,
  plan: ObjectKey,
): Promise<WrittenResults | null> {
  const found = await store.readIfExists(summaryKey(batchId));
  if (found === null) return null;
  const summary = JSON.parse(found.body.toString('utf8')) as Summary;
  return summary.plan === plan && summary.complete ? summary.written : null;
}

async function makePlan(
  store: ObjectStore,
  input: PlanWriteBackInput,
  before: readonly StoredPlan[],
): Promise<StoredPlan> {
  const { cancellationSignal: signal } = Context.current();
  const planner = new BatchPlanner(input);
  const columns = await eachRow(store, input, signal, (row) => void planner.survey(row));
  await writeBatchFile(store, input, typesOf(columns));

  const known = before.length === 0 ? null : await EarlierRows.read(store, before, signal);
  const sequence = (before.at(-1)?.file.sequence ?? 0) + 1;
  const rowsAChunk = chunkRows(planner.rows);
  const key = planKey(input.batchId, planName(sequence, input.input, rowsAChunk));
  const writer = new ChunkWriter(store, key, rowsAChunk);
  await eachRow(store, input, signal, (row) => {
    const planned = planner.plan(row);
    if (known === null) return writer.add({ ...planned, receipt: null, sentAt: null });
    return withEarlierOutcome(planned, known).then((one) => writer.add(one));
  });
  const { chunks, pending } = await writer.finish();
  const file: PlanFile = { sequence, input: input.input, rows: planner.rows, chunks, pending };
  signal.throwIfAborted();
  await writeDocument(store, key, file);
  return { key, file };
}

/** Reads the input and visits each row. Returns the columns of a CSV input. */
async function eachRow(
  store: ObjectStore,
  { batchId, resource, format, input }: PlanWriteBackInput,
  signal: AbortSignal,
  visit: (row: InputRow) => Promise<void> | undefined,
): Promise<readonly InputColumn[]> {
  let columns: readonly InputColumn[] = [];
  const types = {
    published: format === 'csv' ? await publishedColumns(store, resource) : [],
    fixed: (await readBatch(store, batchId))?.file.types ?? {},
    text: textColumns(resource),
  };
  const onColumns = (found: readonly InputColumn[]): void => {
    columns = found;
  };
  for await (const rows of readRows(store.stream(input, { signal }), { format, types, onColumns })) {
    for (const row of rows) {
      const visited = visit(row);
      if (visited !== undefined) await visited;
    }
  }
  return columns;
}
