import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { type ServiceClient, ServiceError, ShownKeys, TransientError } from '../../api/index.js';
import type { PhaseEnded, ReadHeartbeat } from '../../core/contract/index.js';
import { MINUTE_MS } from '../../core/duration.js';
import { fairness } from '../../core/fairness.js';
import {
  afterAnswer,
  afterWords,
  areWordsSpent,
  MAX_WORDS_MS,
  type WordsSpent,
} from '../../core/unproven-limits.js';
import { areFatal, deathsBefore, halvings, type WorkerDeaths } from '../../core/worker-deaths.js';
import { keysOf, type RunFile, type WritingRun } from '../../lake/documents/run-file.js';
import type { Stage } from '../../lake/documents/stage-file.js';
import { HEARTBEAT_MS, noteUse, storeLimitOf } from '../activity-context.js';
import { finalFailure } from '../failures.js';
import { withMaskingKey } from '../masking-secret.js';
import { checkSameService } from '../run-failures.js';
import { afterList, endedBy, nextOf, toNextPhase } from '../run-journal.js';
import { showKey } from '../show-organization.js';
import type { RunAt, Staging } from '../staging.js';
import { withLongerRuns } from './compact-chunks.js';
import { dueAdvice } from './due-advice.js';
import { describeRepetition, marksToCheck, readBounds } from './endless-list.js';
import { type FetchedPage, PageChain } from './page-chain.js';
import { PageReader } from './page-reader.js';
import { cursorHash, findPosition, recordKeyHash } from './position.js';
import type { StoredStage } from './read-stage.js';
import { withSmallerPages } from './smaller-pages.js';
import { type ShiftCheck, Stager } from './stager.js';

/** Time between two looks for a page that is being read. */
const ARRIVING_MS = 20;
const MAX_CALL_MS = 20 * MINUTE_MS;
/** A worker that stops waits this long for a page that has been requested. */
const MAX_DRAIN_MS = 5000;

/**
 * Continues from the last staged position and reads and stages pages until the list or the call ends
 * (docs/explanation/how-it-works.md#one-run). The next page is requested before the current one is converted. When the
 * worker shuts down, the call ends early with what it has read, and another worker runs the next call. The call that ends
 * the reading may merge what is staged into larger chunks. If that takes long, it ends with `done: false`, and the next call
 * continues.
 */
export async function readPages({ deps, connection, staging, clock: now }: RunAt): Promise<PhaseEnded> {
  const context = Context.current();
  const begunAt = deps.now();
  const journal = await staging.journal();
  const { kind } = nextOf(journal, 'read');
  const { run: fixed } = journal;
  checkSameService(fixed, connection, deps);
  const { settings } = connection;
  const run = { ...fixed, resource: await withMaskingKey(settings, fixed.resource) };
  const position = await findPosition(staging);
  const reader = new PageReader(run, position.stage.columns, now);
  let waitingUntil: number | null = null;
  const heartbeat = context.info.heartbeatDetails as ReadHeartbeat | null | undefined;
  let words = heartbeat?.words ?? journal.words;
  let deaths = deathsBefore(heartbeat?.deaths, position.key, now());
  if (areFatal(deaths, now())) throw killsWorkers(run, position.stage, deaths);
  const smaller = withSmallerPages(position.stage, halvings(deaths));
  const keys = new ShownKeys(connection.client, keysOf(run, position.stage), async (client, fingerprint) => {
    // A page that has arrived is staged only after the next one is requested.
    while (chain.hasArrived && stager.ahead.pages === 0)
      await delay(ARRIVING_MS, undefined, { signal: chain.signal });
    await stager.saveOld(true);
    const chunks = [...position.earlier, ...stager.ahead.chunks];
    const { resource, before } = run;
    const known = { resource, before, chunks, columns: reader.columns.toColumns() };
    return showKey({ ...connection, store: staging.store }, { client, ...known }, fingerprint);
  });
  const { client } = keys;
  const options = { staging, run, reader, now, keys: () => keys.keys, onStaged: () => beat() };
  const stager = new Stager(options, position.stage, position.key);
  const beat = (): void => {
    const { pages, fetched } = stager.ahead;
    const details = {
      stage: stager.key,
      pages,
      rows: fetched,
      waitingUntil,
      words,
      deaths,
      ...storeLimitOf(context),
    };
    context.heartbeat(details satisfies ReadHeartbeat);
  };
  const endBefore = begunAt + Math.min(MAX_CALL_MS, run.giveUpAfterMs / 2);
  const mustEnd = (): boolean => stager.isFull || deps.now() > endBefore || deps.draining();
  let hasPages = false;
  let isReading = true;
  const tooLong = new AbortController();
  const chain = new PageChain(
    {
      client,
      run,
      reader,
      signal: AbortSignal.any([context.cancellationSignal, tooLong.signal]),
      now,
      upTo: position.stage.upTo,
      orSince: position.stage.orSince,
      evidence: position.stage.evidence,
      onWait: (until) => {
        waitingUntil = until;
        if (hasPages && staging.isTooLong(until)) tooLong.abort(new Error('the wait is too long'));
      },
      onShrink: (note) =>
        context.log.warn('the service fails at pages of this size, so a smaller one is used', note),
      onRefused: (note) => context.log.warn('the service refuses the time of changes', note),
      mustEnd,
      ...(run.audit?.most !== undefined && { mostPages: run.audit.most - position.stage.readPages }),
    },
    smaller ?? position.stage,
    smaller === null ? position.seen : new Set(),
  );
  // From now on, the next attempt knows of this one.
  beat();
  let drainingSince: number | null = null;
  /** Pages that have arrived are safe, even if the next one does not come. */
  const saveOld = async (): Promise<void> => {
    if (deps.draining()) drainingSince ??= performance.now();
    const drainMs = drainingSince === null ? 0 : performance.now() - drainingSince;
    const isUrgent = drainingSince !== null || (hasPages && staging.isFull(0));
    // A page that hangs would keep the worker from stopping.
    if (drainMs >= MAX_DRAIN_MS) tooLong.abort(new Error('the worker stops'));
    if (!hasPages || !isReading) return;
    await stager.saveOld(isUrgent);
    if (isUrgent && (await staging.save()) === 'dropped')
      tooLong.abort(new Error('another attempt continues'));
  };
  let saving: Promise<void> | null = null;
  const timer = setInterval(() => {
    beat();
    // If it fails, the end of the call tries it again, and reports it.
    saving ??= saveOld()
      .catch(() => {})
      .finally(() => {
        saving = null;
      });
  }, HEARTBEAT_MS);
  const labels = { connection: run.connection, resource: run.resource.name };
  try {
    // An earlier attempt may have read everything.
    if (position.key === null || !position.stage.done) {
      const checkEnd = (): void => throwIfEndless(run, stager, now());
      await stagePages(chain, stager, checkEnd, ({ received }) => {
        waitingUntil = null;
        hasPages = true;
        words = afterAnswer(words, now());
        deps.meter.record('pages', 1, labels);
        deps.meter.record('rows', received.value.records, labels);
        noteUse('bytes', received.bytes);
        deps.meter.record('bytes', received.bytes, labels);
      });
    }
    const read = await stager.settled();
    // The cursors of a list in parts have ended.
    const isWhole = read.round === undefined;
    const mayCheck = isWhole && read.done && !read.shifted && !read.isChecked && kind === 'list';
    if (mayCheck && marksToCheck(read.marks, read.readPages).length > 0)
      await stager.markChecked(await checkShift(client, run, read, chain.signal));
    isReading = false;
    await saving;
    const end = await stager.finish();
    const { stage } = end;
    context.log.info('pages are staged', { pages: stage.pages, rows: stage.fetched, done: stage.done });
    // Gives back the memory of the rows before the merge needs memory.
    stager.close();
    if (!stage.done) return await endCall(staging, end, { words, isDone: false });
    const longer = await withLongerRuns(
      { staging, run, clock: now, draining: () => deps.draining() },
      end,
      position.earlier,
    );
    return await endCall(staging, longer, { words, isDone: longer.complete });
  } catch (thrown) {
    isReading = false;
    deaths = { ...deaths, isRunning: false };
    // The next call waits, with what is staged in the lake. It also repeats a check of the list that was interrupted.
    if (tooLong.signal.aborted && !context.cancellationSignal.aborted) {
      beat();
      return await endCall(staging, await stager.finish(), { words, isDone: false });
    }
    const isWords = thrown instanceof TransientError && thrown.evidence === 'words';
    if (isWords) words = afterWords(words, now());
    const error = isWords && areWordsSpent(words, now()) ? atItsWord(thrown) : thrown;
    // Stage what has been read, whatever the error, so that the next attempt does not read it again.
    if (stager.ahead.pages > position.stage.pages) await stager.finish().catch(() => {});
    beat();
    throw error;
  } finally {
    chain.close();
    // Its heartbeats must not stop while a slow store saves.
    await saving;
    clearInterval(timer);
    stager.close();
  }
}

/** Ends a call of the phase. @param isDone whether the reading has ended */
async function endCall(
  staging: Staging,
  { key, stage: { pages, fetched } }: StoredStage,
  { words, isDone }: { readonly words: WordsSpent; readonly isDone: boolean },
): Promise<PhaseEnded> {
  const journal = await staging.journal();
  const read = { stage: key, pages, rows: fetched, words };
  if (!isDone) return toNextPhase(await staging.decide(read));
  const { run, reading } = journal;
  const more = reading === 0 ? afterList(run, fetched) : [];
  return toNextPhase(await staging.decide(endedBy(journal, { ...read, reading: reading + 1 }, more)));
}

/** The failure of a run that has believed words about a limit for long enough: what the status says. */
function atItsWord(error: TransientError): unknown {
  const { refusal } = error;
  if (refusal === null) return error;
  const note = `The response has spoken of a limit for ${MAX_WORDS_MS / MINUTE_MS} minutes of this run, so its status counts.`;
  return finalFailure('Refused', `${refusal.message} ${note}`, refusal.failureDetail);
}

/** The failure of a run whose workers are lost again and again at one position. */
function killsWorkers(run: RunFile, { pages, fetched, pageSize }: Stage, deaths: WorkerDeaths): Error {
  const { name } = run.resource;
  return finalFailure(
    'Transient',
    `${name}: ${deaths.count} workers in turn were lost while they read what follows page ${pages} (${fetched} records), last with ` +
      `pages of ${Math.max(1, Math.floor(pageSize / 2 ** halvings(deaths)))} records. Nothing was published. They usually lack memory: see their exit codes, and give them more.`,
    { resource: name },
  );
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
      `its lists after paging, a larger \`sync.pageSize\` gives fewer such pages.${dueAdvice(run)}`,
    { resource: name },
  );
}

/**
 * Requests a few pages of a long reading again and checks that each still begins with the same record
 * (docs/explanation/guarantees.md#full-reads). If cursors are offsets, a deleted record shifts all later records forward
 * without repeating a key, and only this check detects that. At most one request for each sixteen pages, and eight in all.
 * The check is optional, so what prevents it does not fail the run: a service may accept each cursor only once.
 *
 * @throws the reason of an aborted signal
 */
async function checkShift(
  client: ServiceClient,
  run: WritingRun,
  { marks, readPages, pageSize, updatedSince, columns }: Stage,
  signal: AbortSignal,
): Promise<ShiftCheck> {
  const { name, path, params } = run.resource;
  try {
    for (const { cursor, first } of marksToCheck(marks, readPages)) {
      const request = { resource: name, path, params, limit: pageSize, cursor, updatedSince, signal };
      const { value } = await client.listPage(request, (body) => new PageReader(run, columns).read(body));
      const { rows } = value;
      if (rows.rows === 0 || recordKeyHash(rows.key(0)) !== first) return { kind: 'shifted' };
    }
    return { kind: 'same' };
  } catch (error) {
    signal.throwIfAborted();
    const status = error instanceof ServiceError ? error.status : null;
    return { kind: 'not-made', why: status === null ? 'no usable answer' : `status ${status}` };
  }
}
