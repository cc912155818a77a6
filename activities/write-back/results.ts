import { Context } from '@temporalio/activity';
import type { Activities } from '../../src/core/contract.js';
import { inParallel } from '../../src/core/in-parallel.js';
import { noRows } from '../../src/core/write-back-contract.js';
import {
  type PlanFile,
  resultLines,
  resultOf,
  resultsHeader,
  resultsKey,
  summaryKey,
} from '../../src/write-back/index.js';
import type { ActivityDeps } from '../deps.js';
import { readDocument, writeDocument } from '../documents.js';
import { heartbeating } from '../heartbeat.js';
import { loadChunk, readLogIndex } from './logs.js';
import type { Summary } from './plan.js';

/** Chunks that are read at a time. */
const AT_ONCE = 8;

/** Writes `results.csv` from the receipts: a line for each row of the plan that has an outcome, in the input's order. */
export function createWriteResults(deps: ActivityDeps): Activities['worktrack.writeResults'] {
  return (input) =>
    heartbeating(async () => {
      const { store } = deps.connection(input.connection);
      const { cancellationSignal: signal } = Context.current();
      const plan = await readDocument<PlanFile>(store, input.plan);
      const logs = await readLogIndex(store, input.plan);
      const key = resultsKey(input.batchId);
      const writer = store.openWriter(key, { contentType: 'text/csv', signal });
      const counts = noRows();
      let unsent = 0;
      try {
        await writer.write(Buffer.from(resultsHeader(), 'latin1'));
        for (let from = 0; from < plan.chunks.length; from += AT_ONCE) {
          const numbers = [...plan.chunks.keys()].slice(from, from + AT_ONCE);
          const chunks = await inParallel(numbers, AT_ONCE, (number) =>
            loadChunk(store, input.plan, number, logs),
          );
          for (const { rows, states } of chunks) {
            const results = rows.flatMap((row, index) => {
              const result = resultOf(row, states.get(index));
              return result === null ? [] : [{ row, result }];
            });
            for (const { result } of results) counts[result.outcome]++;
            unsent += rows.length - results.length;
            await writer.write(Buffer.from(resultLines(results), 'latin1'));
          }
        }
        await writer.finish();
      } catch (error) {
        await writer.abort();
        throw error;
      }
      const written = { results: key, counts, unsent };
      const complete = unsent === 0 && counts.unknown === 0;
      const summary: Summary = { plan: input.plan, complete, written };
      await writeDocument(store, summaryKey(input.batchId), summary);
      return written;
    });
}
