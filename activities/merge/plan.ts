import { Context } from '@temporalio/activity';
import type { Activities } from '../../src/core/contract.js';
import { inParallel } from '../../src/core/in-parallel.js';
import { blowsFuse } from '../../src/lake/deletes.js';
import { type MergePlan, planMerge } from '../../src/lake/merge/plan.js';
import { framingOf } from '../../src/lake/part/framing.js';
import { type Block, decodeIndex, indexKey } from '../../src/lake/part/index-file.js';
import { BlockReader } from '../../src/lake/part/reader.js';
import { profileFingerprint } from '../../src/lake/profile.js';
import { rowKeys, type SortKey } from '../../src/lake/row.js';
import type { RunFile } from '../../src/lake/run-file.js';
import { type Column, ColumnSet, schemaChanges } from '../../src/lake/schema.js';
import type { StagedChunk } from '../../src/lake/stage.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import type { ActivityDeps } from '../deps.js';
import { readDocument, readRunWith, readStages, stagedKey, writeDocument } from '../documents.js';
import { finalFailure } from '../failures.js';
import { heartbeating } from '../heartbeat.js';

const READS_AT_ONCE = 16;

/** Divides the merge of what was staged with the snapshot before into tasks (see `planMerge`). */
export function createPlanMerge(deps: ActivityDeps): Activities['worktrack.planMerge'] {
  return (input) =>
    heartbeating(async () => {
      const { store } = deps.connection(input.connection);
      const [run, stages] = await readRunWith(store, input, readStages(store, input.stage));
      const chunks = stages.flatMap((stage) => stage.chunks);
      const blocks = await inParallel(
        chunks,
        READS_AT_ONCE,
        async (chunk) => decodeIndex(await store.read(indexKey(chunk.key))).blocks,
      );
      const columns = new ColumnSet(run.resource.key, stages.at(-1)!.columns).toColumns();
      const { before } = run;
      const gone = input.gone === null ? [] : await readDocument<SortKey[]>(store, input.gone);
      guard(run, columns, gone.length, input.allowDeletes);
      const sameRows = before !== null && before.fingerprint === profileFingerprint(run.resource);
      const plan: MergePlan = {
        columns,
        chunks,
        gone: input.gone,
        ...(await planMerge({
          before: before?.parts ?? [],
          chunks,
          blocks,
          gone,
          partBytes: run.resource.csv.partBytes,
          rewrite: sameRows && before.columns.length === columns.length ? 'touched' : 'all',
          keysOf: (chunk, block) => keysOf(store, run, chunks[chunk]!, blocks[chunk]!, block),
        })),
      };
      const key = stagedKey(input, `plan-${Context.current().info.attempt}.json`);
      await writeDocument(store, key, plan);
      return { plan: key, batches: plan.batches.length };
    });
}

/** What must stop a run before anything of it is written: too many deletes, or columns that a frozen contract forbids. */
function guard(run: RunFile, columns: readonly Column[], deletes: number, allowDeletes: boolean): void {
  const { resource, before } = run;
  if (before === null) return;
  if (!allowDeletes && blowsFuse(deletes, before.rows)) {
    throw finalFailure(
      'BrokenPromise',
      `${resource.name}: ${deletes} of ${before.rows} rows are gone from the service, more than a tenth; nothing was ` +
        `published. If that is true, run \`worktrack export --resource ${resource.name} --allow-deletes\`.`,
      { resource: resource.name },
    );
  }
  const changes = schemaChanges(run.columns, columns);
  if (resource.contract === 'freeze' && changes.length > 0) {
    throw finalFailure(
      'BrokenPromise',
      `${resource.name}: the schema is frozen (\`contract: freeze\`) and has changed: ${changes.join('; ')}; nothing was ` +
        'published. Exclude the columns, or set `contract: evolve`.',
      { resource: resource.name },
    );
  }
}

async function keysOf(
  store: ObjectStore,
  { resource }: RunFile,
  chunk: StagedChunk,
  blocks: readonly Block[],
  at: number,
): Promise<SortKey[]> {
  const reader = new BlockReader(store, { key: chunk.key, blocks, framing: framingOf(resource.csv) }, 1);
  return rowKeys(await reader.rows(at), resource.key.length, resource.csv.delimiter, 'all');
}
