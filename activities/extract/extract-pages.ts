import { setImmediate as nextTurn } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { TransientError } from '../../src/api/index.js';
import type { ExtractHeartbeat, ExtractInput, ExtractResult } from '../../src/core/contract/index.js';
import { MINUTE_MS } from '../../src/core/duration.js';
import { fairness } from '../../src/core/fairness.js';
import {
  afterAnswer,
  afterWords,
  areWordsSpent,
  MAX_WORDS_MS,
  NO_WORDS,
} from '../../src/core/unproven-limits.js';
import type { RunFile } from '../../src/lake/documents/run-file.js';
import { describeRepetition, readBounds } from '../../src/lake/run/read-progress.js';
import { toExtractResult } from '../../src/lake/run/stage.js';
import { ActivityAge, HEARTBEAT_MS } from '../shared/activity-context.js';
import { finalFailure } from '../shared/failures.js';
import { withMaskingKey } from '../shared/masking.js';
import type { RunAt } from '../shared/staging.js';
import { storeLimitOf } from '../shared/store-limit.js';
import { hasShifted } from './check-shift.js';
import { withLongerRuns } from './longer-runs.js';
import { type FetchedPage, PageChain } from './page-chain.js';
import { PageReader } from './page-reader.js';
import { cursorHash, findPosition } from './position.js';
import { Stager } from './stager.js';

const MAX_CALL_MS = 20 * MINUTE_MS;

/**
 * Continues from the last staged position and reads and stages pages until the list or the call ends
 * (docs/explanation/how-it-works.md#one-run). The next page is requested before the current one is converted. When the
 * worker shuts down, the call ends early with what it has read, and another worker runs the next call. The call that ends
 * the reading may merge what is staged into larger chunks. If that takes long, it ends with `done: false`, and the next call
 * continues.
 */
export async function extractPages(
  { deps, connection: { client, settings }, staging, clock: now }: RunAt,
  input: ExtractInput,
): Promise<ExtractResult> {
  const context = Context.current();
  const age = new ActivityAge();
  const begunAt = deps.now();
  const run = await staging.run();
  const position = await findPosition(staging, input, run);
  let { key } = position;
  const resource = await withMaskingKey(settings, run.resource);
  const reader = new PageReader({ ...run, resource }, position.stage.columns);
  let waitingUntil: number | null = null;
  const heartbeat = context.info.heartbeatDetails as ExtractHeartbeat | null | undefined;
  let words = heartbeat?.words ?? input.words ?? NO_WORDS;
  const stager = new Stager(
    {
      staging,
      run,
      input,
      reader,
      now,
      onStaged: (staged) => {
        key = staged;
        beat();
      },
    },
    position.stage,
    key,
  );
  const beat = (): void => {
    const { pages, fetched } = stager.ahead;
    const details = { stage: key, pages, rows: fetched, waitingUntil, words, ...storeLimitOf(context) };
    context.heartbeat(details satisfies ExtractHeartbeat);
  };
  const endBefore = begunAt + Math.min(MAX_CALL_MS, run.giveUpAfterMs / 2);
  const mustEnd = (): boolean => stager.isFull || deps.now() > endBefore || deps.draining();
  let hasPages = false;
  const tooLong = new AbortController();
  const chain = new PageChain(
    {
      client,
      run,
      reader,
      signal: AbortSignal.any([context.cancellationSignal, tooLong.signal]),
      now,
      upTo: position.stage.upTo,
      onWait: (until) => {
        waitingUntil = until;
        if (hasPages && staging.isTooLong(until)) tooLong.abort(new Error('the wait is too long'));
      },
      onShrink: (from, to, error) =>
        context.log.warn('the service fails at pages of this size, so a smaller one is used', {
          from,
          to,
          error,
        }),
      mustEnd,
    },
    position.stage,
    position.seen,
  );
  const timer = setInterval(beat, HEARTBEAT_MS);
  const labels = { connection: input.connection, resource: input.resource };
  try {
    // An earlier attempt may have read everything.
    if (key === null || !position.stage.done) {
      const checkEnd = (): void => throwIfEndless(run, stager, now());
      await stagePages(chain, stager, checkEnd, ({ received }) => {
        waitingUntil = null;
        hasPages = true;
        words = afterAnswer(words, now());
        deps.meter.record('pages', 1, labels);
        deps.meter.record('rows', received.value.records, labels);
        deps.meter.record('bytes', received.bytes, labels);
      });
    }
    const read = await stager.settled();
    if (read.done && !read.shifted && input.read.kind === 'list') {
      if (await hasShifted(client, run, read, context.cancellationSignal)) await stager.markShifted();
    }
    const { key: last, stage } = await stager.finish();
    context.log.info('pages are staged', { pages: stage.pages, rows: stage.fetched, done: stage.done });
    // Gives back the memory of the rows before the merge needs memory.
    stager.close();
    if (!stage.done) return { ...toExtractResult(last, stage), ...(words === NO_WORDS ? {} : { words }) };
    const longer = await withLongerRuns(
      { staging, run, input, age, draining: () => deps.draining() },
      { key: last, stage },
      position.earlier,
    );
    const result = toExtractResult(longer.key, longer.stage);
    return { ...result, done: longer.complete, ...(words === NO_WORDS ? {} : { words }) };
  } catch (thrown) {
    // The next call waits, with what is staged in the lake.
    if (tooLong.signal.aborted && !context.cancellationSignal.aborted) {
      const { key: last, stage } = await stager.finish();
      return toExtractResult(last, stage);
    }
    const isWords = thrown instanceof TransientError && thrown.evidence === 'words';
    if (isWords) words = afterWords(words, now());
    const error = isWords && areWordsSpent(words, now()) ? atItsWord(thrown) : thrown;
    // Stage what has been read, whatever the error, so that the next attempt does not read it again.
    if (stager.ahead.pages > position.stage.pages) await stager.finish().then(beat, () => {});
    else if (isWords) beat();
    throw error;
  } finally {
    chain.close();
    stager.close();
    clearInterval(timer);
  }
}

/** The failure of a run that has believed words about a limit for long enough: what the status says. */
function atItsWord(error: TransientError): unknown {
  const { refusal } = error;
  if (refusal === null) return error;
  const note = `The response has spoken of a limit for ${MAX_WORDS_MS / MINUTE_MS} minutes of this run, so its status counts.`;
  return finalFailure('Refused', `${refusal.message} ${note}`, refusal.failureDetail);
}

async function stagePages(
  chain: PageChain,
  stager: Stager,
  checkEnd: () => void,
  onPage: (page: FetchedPage) => void,
): Promise<void> {
  let coming = chain.next();
  for (;;) {
    const page = await coming;
    onPage(page);
    const { cursor } = page.next;
    const last = chain.endsAfter(page);
    if (!last) {
      coming = chain.next();
      coming.catch(() => {});
    }
    // Adding takes as long as reading, so let the event loop handle other responses in between.
    await nextTurn();
    await fairness.giveWay();
    await stager.add(page, cursor === null ? null : cursorHash(cursor));
    // Also at the end of a call: with slow pages, each call has only one.
    if (!page.done) checkEnd();
    if (last) return;
  }
}

/** @throws a final failure if the list does not end (docs/explanation/guarantees.md#lists-that-do-not-end) */
function throwIfEndless(run: RunFile, { ahead, progress }: Stager, now: number): void {
  const { pageSize, fullRead, updatedSince, readPages } = ahead;
  const isPartial = ahead.kind === 'catch-up' || run.mode === 'increment';
  const bounds = readBounds(isPartial, fullRead, { pageSize, giveUpAfterMs: run.giveUpAfterMs });
  const repetition = progress.endless(bounds, now);
  if (repetition === null) return;
  const { name } = run.resource;
  throw finalFailure(
    'BrokenPromise',
    `${name}: the list does not end (updatedSince ${updatedSince ?? 'absent'}, ${readPages} pages read): ` +
      `${describeRepetition(repetition)}. Nothing was published. Report it to the service's support. If the service filters ` +
      'its lists after paging, a larger `sync.pageSize` gives fewer such pages.',
    { resource: name },
  );
}
