import { setImmediate as nextTurn } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import type { ObjectKey } from '../../src/core/brands.js';
import type { Activities, ExtractHeartbeat, ExtractResult } from '../../src/core/contract.js';
import type { Stage } from '../../src/lake/stage.js';
import type { ActivityDeps } from '../deps.js';
import { readRun } from '../documents.js';
import { PageReader } from './page-reader.js';
import { type FetchedPage, PageChain } from './pages.js';
import { cursorHash, findPosition } from './position.js';
import { Stager } from './stager.js';

/** Chunks after which a call ends and the workflow makes another: it bounds what one stage document lists. */
const CHUNKS_A_CALL = 240;
const LONGEST_CALL_MS = 20 * 60_000;
const HEARTBEAT_MS = 1000;

/**
 * Reads pages from where the last attempt left off and stages them, many an attempt (DESIGN 2). The next page is
 * requested before the last one is converted. On a deploy the call ends early with what it has read, and another
 * worker makes the next one.
 */
export function createExtractPages(deps: ActivityDeps): Activities['worktrack.extractPages'] {
  return async (input) => {
    const context = Context.current();
    // Temporal's clock, as in the times that runs began at: this machine's may go wrong, and only lends its pace.
    const { attempt, currentAttemptScheduledTimestampMs: scheduledAt } = context.info;
    const begunAt = deps.now();
    const { client, store } = deps.connection(input.connection);
    const run = await readRun(store, input);
    const position = await findPosition(store, input, run, attempt);
    let { key } = position;
    if (key !== null && position.stage.done) return result(key, position.stage);

    const reader = new PageReader(run, position.stage.columns);
    let waitingUntil: number | null = null;
    const stager = new Stager(
      {
        store,
        run,
        input,
        attempt,
        reader,
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
      context.heartbeat({ stage: key, pages, rows: fetched, waitingUntil } satisfies ExtractHeartbeat);
    };
    const endBefore = begunAt + Math.min(LONGEST_CALL_MS, run.giveUpAfterMs / 2);
    const mustEnd = (): boolean =>
      stager.chunks >= CHUNKS_A_CALL || deps.now() > endBefore || deps.draining();
    const chain = new PageChain(
      {
        client,
        run,
        reader,
        signal: context.cancellationSignal,
        now: () => scheduledAt + deps.now() - begunAt,
        onWait: (until) => {
          waitingUntil = until;
        },
        mustEnd,
      },
      position.stage,
      position.seen,
    );
    const timer = setInterval(beat, HEARTBEAT_MS);
    const { connection, resource } = input;
    const labels = { connection, resource };
    try {
      await readOn(chain, stager, ({ received }) => {
        waitingUntil = null;
        deps.meter.record('pages', 1, labels);
        deps.meter.record('rows', received.value.records, labels);
        deps.meter.record('bytes', received.bytes, labels);
      });
      const { key: last, stage } = await stager.finish();
      context.log.info('pages are staged', { pages: stage.pages, rows: stage.fetched, done: stage.done });
      return result(last, stage);
    } catch (error) {
      // Whatever ended it: what has been read need not be read again.
      await stager.finish().then(beat, () => {});
      throw error;
    } finally {
      chain.close();
      clearInterval(timer);
    }
  };
}

async function readOn(chain: PageChain, stager: Stager, onPage: (page: FetchedPage) => void): Promise<void> {
  let coming = chain.next();
  for (;;) {
    const page = await coming;
    onPage(page);
    const { cursor } = page.next;
    const last = chain.endsBehind(page);
    if (!last) {
      coming = chain.next();
      coming.catch(() => {});
    }
    // Adding takes as long as reading does: in between, answers to others are heard.
    await nextTurn();
    await stager.add(page, cursor === null ? null : cursorHash(cursor));
    if (last) return;
  }
}

function result(key: ObjectKey, stage: Stage): ExtractResult {
  const { done, cursor, pages, fetched, pageSize } = stage;
  return { stage: key, done, cursor, pages, rows: fetched, pageSize };
}
