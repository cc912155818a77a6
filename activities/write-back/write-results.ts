import { Context, log } from '@temporalio/activity';
import { noRows, type WriteResultsInput, type WrittenResults } from '../../src/core/contract/write-back.js';
import { errorMessage } from '../../src/core/errors.js';
import type { ActivityDeps } from '../../src/run/deps.js';
import { batchKeys } from '../../src/write-back/batch-layout.js';
import { readLogIndex } from '../../src/write-back/chunk-logs.js';
import { HashTable } from '../../src/write-back/hash-table.js';
import { textHash } from '../../src/write-back/idempotency-key.js';
import { claimedState, closeClaim } from '../../src/write-back/ledger/claim.js';
import { tidyLedger } from '../../src/write-back/ledger/entries.js';
import { isWritten } from '../../src/write-back/plan-file.js';
import { DifferenceCounter } from '../../src/write-back/record-differences.js';
import {
  RefusalTexts,
  resultLines,
  resultOf,
  resultsHeader,
  type Summary,
} from '../../src/write-back/results.js';
import { encodeSealed } from '../../src/write-back/sealed.js';
import { claimedStates, fenceClaim } from './claim-states.js';
import { loadChunks, readPlan, readTurn } from './stored-batch.js';

/** Outcomes that no answer of the service gives. The others are counted when the answer arrives. */
const NOT_ANSWERED = ['unknown', 'superseded', 'skipped'] as const;

/**
 * Writes `results.csv` from the receipts: one line for each row with an outcome, in the order of the input. Closes the claim
 * of the batch with the same receipts.
 */
export async function writeResults(deps: ActivityDeps, input: WriteResultsInput): Promise<WrittenResults> {
  const { store, settings } = deps.connection(input.connection);
  const lineOptions = { escapeFormulas: settings.writeBack.escapeFormulas[input.resource] };
  const { cancellationSignal: signal } = Context.current();
  const plan = await readPlan(store, input.plan);
  const turn = await readTurn(store, input);
  const claim = await fenceClaim(store, input.resource, turn);
  const claimed = claimedStates(plan.file.rows);
  const logs = await readLogIndex(store, input.plan);
  const key = batchKeys(input.batchId).results;
  const writer = store.openWriter(key, { signal });
  const counts = noRows();
  const refused = new RefusalTexts();
  const differences = new DifferenceCounter();
  const ids = new HashTable();
  let sameId = 0;
  let unsent = 0;
  let skipped = 0;
  let ofOthers = 0;
  try {
    await writer.write(Buffer.from(resultsHeader(), 'latin1'));
    for await (const { rows, states } of loadChunks(store, plan, logs)) {
      const results = rows.flatMap((row, index) => {
        const found = turn.verdictOf(row.row);
        const state = states.get(index);
        const result = resultOf(row, state, found);
        claimed.set(row.row - 1, claimedState(row, state, false));
        if (found?.outcome === 'skipped' && result?.outcome === 'skipped') skipped++;
        if (found?.outcome === 'unknown' && result?.outcome === 'unknown') ofOthers++;
        if (result !== null) return [{ row, result }];
        if (state?.held?.run === input.run) refused.add(row.row, state.held);
        return [];
      });
      for (const { row, result } of results) {
        counts[result.outcome]++;
        differences.add(row.row, result.found);
        if (!isWritten(result) || result.id === null) continue;
        const known = ids.size;
        ids.entry(textHash(result.id));
        if (ids.size === known) sameId++;
      }
      unsent += rows.length - results.length;
      await writer.write(Buffer.from(resultLines(results, lineOptions), 'latin1'));
    }
    await writer.finish();
  } catch (error) {
    await writer.abort();
    throw error;
  }
  if (claim !== null) {
    await closeClaim(store, input.resource, claim, deps.now(), claimed.of);
    // If the record cannot be tidied, the next batch tries again.
    await tidyLedger(store, input.resource).catch((error: unknown) => {
      log.warn('the record of written rows could not be tidied', { error: errorMessage(error) });
    });
  }
  const labels = { connection: input.connection, resource: input.resource };
  for (const outcome of NOT_ANSWERED)
    deps.meter.record('writtenRows', counts[outcome], { ...labels, outcome });
  const { texts } = refused;
  const refusals = texts.length === 0 ? null : batchKeys(input.batchId).refusals;
  if (refusals !== null) await store.write(refusals, encodeSealed(texts));
  const { examples } = differences;
  const shown = examples.length === 0 ? null : batchKeys(input.batchId).differences;
  if (shown !== null) await store.write(shown, encodeSealed(examples));
  const compared = { ...differences.counts, differences: shown };
  const written = { results: key, counts, unsent, refusals, sameId, ofOthers, ...compared };
  const complete = unsent === 0 && counts.unknown === 0;
  const { baseUrl } = plan.file;
  const summary: Summary = { plan: input.plan, baseUrl, complete, found: skipped, written };
  const body = encodeSealed(summary);
  await store.write(batchKeys(input.batchId).summary, body);
  return written;
}
