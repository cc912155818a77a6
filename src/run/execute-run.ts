import { randomBytes } from 'node:crypto';
import { ApplicationFailure, Context } from '@temporalio/activity';
import { runPhaseOf } from '../core/contract/activity-table.js';
import type {
  PhaseEnded,
  PhaseName,
  PhaseRef,
  RunEnded,
  RunInput,
  RunPublished,
  RunRef,
  RunSpilled,
  RunSweep,
  StepHeartbeat,
} from '../core/contract/index.js';
import { errorMessage } from '../core/errors.js';
import { allDone } from '../core/in-parallel.js';
import { attemptRunId } from '../core/run-id.js';
import { damagedObject } from '../lake/damaged-error.js';
import { indexKey } from '../lake/documents/block-index.js';
import { sha256Of } from '../lake/documents/checksums.js';
import type { RunFile } from '../lake/documents/run-file.js';
import { readIndexBody } from '../lake/part/read-index.js';
import { MAX_COPY_BYTES } from '../lake/store/index.js';
import { AttemptProgress, logPhase, temporalClock, withHeartbeat } from './activity-context.js';
import type { ActivityDeps, OpenConnection } from './deps.js';
import { toFailure } from './failures.js';
import { RunInMemory } from './memory-staging.js';
import { performPhase } from './perform-phase.js';
import { runPhases } from './phases.js';
import { WriteTrial } from './prepare/conditional-writes.js';
import { hookedToOf, hookOf, prepareRun } from './prepare/prepare-run.js';
import { saveUse } from './preview/dry-staging.js';
import { dryConnection, dryStore } from './preview/dry-store.js';
import { removeAll, removeRun } from './remove-folders.js';
import { finalIfLate, finalIfUnread, orDisplaced } from './run-failures.js';
import { type MergePlan, toNextPhase } from './run-journal.js';
import { fixRun, type RunAt, readJournal, Spill, Staging } from './staging.js';
import { sweepResource } from './sweep/sweep-resource.js';

/** After so many attempts that a worker did not survive, the run begins in the lake: perhaps it is what killed them. */
const MAX_MEMORY_ATTEMPTS = 3;

/**
 * Performs a whole run in memory (docs/explanation/how-it-works.md#in-memory-or-in-the-lake): it prepares, reads, settles,
 * merges, publishes, and sweeps if that is due. A run that turns out to be large, or has to wait, spills: what it holds goes to the lake, and the
 * workflow requests an activity for each further phase.
 *
 * Each attempt has its own run id, so all its objects have their own names, and it writes nothing before its merge. It never
 * resumes: a later attempt starts afresh, unless an earlier one has published its run, or has spilled it.
 */
export async function wholeRun(deps: ActivityDeps, input: RunInput): Promise<RunSpilled | RunEnded> {
  const clock = temporalClock();
  try {
    const opened = deps.connection(input.connection);
    const trial = new WriteTrial(opened, { now: clock, logger: Context.current().log });
    const { settings, client } = opened;
    const tried = { settings, client, store: trial.store };
    const connection = input.dryRun === undefined ? tried : dryConnection(tried);
    try {
      return await attemptRun({ deps, connection, input, clock, trial });
    } finally {
      // A store that cannot be published to is the first thing to repair, so its failure replaces others.
      await withHeartbeat(() => trial.ended());
    }
  } catch (error) {
    const found = await orDisplaced(deps, input, toFailure(error));
    const giveUpAfterMs = (): number => deps.connection(input.connection).settings.retries.giveUpAfterMs;
    const failure = finalIfUnread(found, clock(), giveUpAfterMs);
    throw finalIfLate(failure, clock() - input.startedAt, giveUpAfterMs);
  }
}

interface Attempt {
  readonly deps: ActivityDeps;
  readonly connection: OpenConnection;
  readonly input: RunInput;
  readonly clock: () => number;
  readonly trial: WriteTrial;
}

async function attemptRun({
  deps,
  connection,
  input,
  clock,
  trial,
}: Attempt): Promise<RunSpilled | RunEnded> {
  const { attempt, heartbeatDetails } = Context.current().info;
  const { store, settings } = connection;
  const progress = new AttemptProgress();
  progress.checkedHead = (heartbeatDetails as StepHeartbeat | undefined)?.checkedHead ?? null;
  logPhase('prepare');
  const prepared = await withHeartbeat(async () => {
    // The first attempt finds it when it spills.
    const there = attempt > 1 ? await readJournal(store, input) : null;
    if (there !== null) return { kind: 'spilled' } as const;
    const found = await prepareRun(connection, input, {
      now: clock,
      worker: () => deps.now(),
      origin: deps.origin,
      progress,
      trial,
    });
    if (found.kind === 'published' || !beginsInLake(found.run, input, attempt)) return found;
    await fixRun(store, found.run);
    return { kind: 'spilled' } as const;
  }, progress);
  if (prepared.kind === 'spilled') return spilled(connection, input);
  if (prepared.kind === 'published') {
    const { runId } = prepared.run;
    // It may have ended before its sweep.
    const rest = { table: settings.tables !== null, onPublished: hookOf(settings) };
    return { kind: 'published', runId, run: prepared.run, ...rest, pageSize: null, swept: 'to do' };
  }
  const { runId: request } = input;
  const run = { ...prepared.run, request, runId: attemptRunId(request, randomBytes(4).toString('hex')) };
  const { resource } = input;
  const lake =
    input.dryRun === undefined ? store : dryStore(store, { resource, runId: run.runId, staged: input.runId });
  const memory = await RunInMemory.begin(lake, run, input.runId);
  logPhase('prepare', run.runId);
  try {
    return await runInMemory({ deps, connection, input, run, memory, clock, progress });
  } finally {
    memory.close();
  }
}

/**
 * Whether a run is in the lake from the beginning: if it takes over staged pages, if the mirror must first note where the
 * workflows of `onPublished` begin, or if several attempts have died. A rollback whose first attempt ended may need all the
 * time of this one for the head, and what follows has more time in the lake.
 */
function beginsInLake(
  { resumed, onPublished, rollback }: RunFile,
  { hookedTo }: RunInput,
  attempt: number,
): boolean {
  if (rollback !== null && attempt > 1) return true;
  const isNewHook = onPublished !== null && hookedTo === null;
  return resumed !== null || isNewHook || attempt > MAX_MEMORY_ATTEMPTS;
}

/** The run as it is in the lake, whichever attempt has spilled it. */
async function spilled({ store }: OpenConnection, input: RunInput): Promise<RunSpilled> {
  return withHeartbeat(async () => {
    const staging = new Staging(store, input, Context.current().info.attempt);
    if (input.dryRun !== undefined) await saveUse(staging);
    const journal = await staging.journal();
    const { run } = journal;
    const { mode, giveUpAfterMs } = run;
    const shown = { mode, resumed: run.resumed?.runId ?? null };
    const next = toNextPhase(journal);
    return { kind: 'spilled', next, ...shown, giveUpAfterMs, hookedTo: hookedToOf(input, run) };
  });
}

interface InMemory extends Omit<RunAt, 'staging'> {
  readonly input: RunInput;
  readonly run: RunFile;
  readonly memory: RunInMemory;
}

async function runInMemory(at: InMemory): Promise<RunSpilled | RunEnded> {
  const { connection, input, run, memory } = at;
  const ref: RunRef = { connection: input.connection, resource: input.resource, runId: run.runId };
  try {
    const first = toNextPhase(await memory.staging.journal());
    const ended = await runPhases(
      ref,
      first,
      (phase, of) => performInMemory(at, phase, of),
      ({ phase }) => logPhase(runPhaseOf(phase)),
    );
    return ended.kind === 'published' ? await follow(at, ended) : ended;
  } catch (error) {
    if (error instanceof Spill) {
      logPhase('prepare', input.runId);
      Context.current().log.info('the run continues in the lake', { reason: error.reason });
      await withHeartbeat(() => memory.save());
      return spilled(connection, input);
    }
    await afterFailure(at, error);
    throw error;
  }
}

/** Failures that lie outside of what was read: the next attempt, or the next run, continues from it. */
const KEPT: readonly (string | null | undefined)[] = ['Refused', 'Transient', 'Configuration', 'Lake'];

/** Spills what the failure leaves useful; otherwise removes what the attempt has written, if its swap was not sent. */
async function afterFailure(
  { connection: { store }, run, memory, progress }: InMemory,
  error: unknown,
): Promise<void> {
  const { cancellationSignal, cancellationDetails } = Context.current();
  const isCancelled = cancellationSignal.aborted;
  const failure = toFailure(error);
  const isFinal = failure instanceof ApplicationFailure && failure.nonRetryable === true;
  const mayContinue = failure instanceof ApplicationFailure && (!isFinal || KEPT.includes(failure.type));
  try {
    if (!isCancelled && mayContinue && !memory.isEmpty) await withHeartbeat(() => memory.save());
    // Its own, because that of the activity may be aborted.
    const { signal } = new AbortController();
    // It has spilled while a page was awaited. No other attempt continues a run that someone has cancelled.
    if (memory.isSpilled && cancellationDetails?.cancelRequested === true)
      await removeAll(store, memory.staging.key(''), signal);
    // If its swap may still arrive, the sweep of the next published run removes what is left.
    if (!progress.hasParts || progress.isSwapSent || !(isCancelled || isFinal)) return;
    await removeRun(store, run, signal);
  } catch (problem) {
    Context.current().log.warn('what the failed attempt held could not be saved or removed', {
      error: errorMessage(problem),
    });
  }
}

/** What follows the swap. It never fails the run. With a table, the sweep has to wait until the table has followed. */
async function follow(
  { connection, input, run, progress }: InMemory,
  ended: RunPublished,
): Promise<RunPublished> {
  const { published: head } = progress;
  // A delayed attempt may have published the run instead.
  if (run.tables !== null || head === null) return ended;
  logPhase('sweep');
  return withHeartbeat(async () => {
    const { info, cancellationSignal: signal, log } = Context.current();
    const again: RunSweep = { before: null, ended: [], scope: 'all' };
    const task = info.attempt > 1 ? { ...again, ...input.sweep, scope: 'all' as const } : input.sweep;
    if (task === undefined) return { ...ended, swept: null };
    try {
      const { isDone, refused } = await sweepResource(connection.store, {
        ...{ resource: input.resource, writer: input.writer, head, scope: task.scope },
        ...{ before: task.before, replaced: [input.runId, ...task.ended], now: ended.run.publishedAt },
        ...{ settings: run.retention, signal },
      });
      return { ...ended, swept: { before: task.before, isDone, refused } };
    } catch (error) {
      const message = errorMessage(error);
      log.warn('the sweep failed; the next one repeats it', { error: message });
      const warnings = [...ended.run.warnings, { kind: 'sweep-failed', message } as const];
      return { ...ended, run: { ...ended.run, warnings }, swept: null };
    }
  });
}

/** Parts that a merge in memory reads, in bytes as stored. */
const MAX_MERGED_BYTES = 4 * 1024 * 1024;
/** Parts that it copies within the store. */
const MAX_COPIED_BYTES = 64 * 1024 * 1024;
/** Records that are asked for by id while the run is in memory. */
const MAX_ASKED = 20;

/** Phases that are better begun in the lake, if the rows that are held are too old or too many. */
const MAY_SPILL: readonly PhaseName[] = ['settle', 'settleById', 'mergePlan'];

/** Carries out a phase of a run in memory. @throws Spill if the run is to continue in the lake */
async function performInMemory(at: InMemory, phase: PhaseName, ref: PhaseRef): Promise<PhaseEnded> {
  const { memory, progress } = at;
  const { staging } = memory;
  const before = await staging.journal();
  const perform = () => performPhase({ ...at, staging }, phase, ref);
  if (phase === 'read') {
    // It sends its own heartbeats, with details.
    const ended = await perform();
    if (memory.isSpilled) throw new Spill('the rows were saved while a page was awaited');
    const { reading } = await staging.journal();
    if (reading === before.reading) throw new Spill('the list is longer, or the service lets it wait');
    return ended;
  }
  if (MAY_SPILL.includes(phase)) {
    if (memory.isSpilled || memory.isFull(0)) throw new Spill('its rows are too old or too many');
    if (phase === 'settleById' && before.absent.length > MAX_ASKED)
      throw new Spill('many records have to be asked for by id');
  }
  return withHeartbeat(async () => {
    if (MAY_SPILL.includes(phase)) await holdBase(at);
    if (phase === 'merge') {
      progress.hasParts = true;
      await memory.startWriting();
    }
    try {
      const ended = await perform();
      if (ended.kind === 'next' && ended.phase === 'merge') checkIsSmall((await staging.journal()).plan!);
      return ended;
    } finally {
      // Records whose key is not unique show up in the merge.
      if (phase === 'merge') await memory.startWriting();
    }
  });
}

function checkIsSmall({ batches, tasks, chunks }: MergePlan): void {
  if (batches.length > 1) throw new Spill('the merge has several batches');
  let merged = 0;
  let copied = 0;
  for (const task of tasks) {
    if (task.kind === 'carry') copied += task.part.bytes;
    else {
      merged += task.before?.bytes ?? 0;
      // The parts of a rollback's target.
      for (const at of task.chunks) if (chunks[at]!.runId === undefined) merged += chunks[at]!.bytes;
    }
  }
  if (merged > MAX_MERGED_BYTES || copied > MAX_COPIED_BYTES) throw new Spill('the snapshot is large');
}

/**
 * Reads the part of a small base snapshot and its block index once. Copies and merges of the part then need no further reads.
 *
 * @throws DamagedError if the part does not match its manifest
 */
async function holdBase({ memory: { store }, run }: InMemory): Promise<void> {
  const [part, ...others] = run.before?.parts ?? [];
  if (part === undefined || others.length > 0 || store.holds(part.key)) return;
  if (part.bytes > MAX_COPY_BYTES || part.rows === 0) return;
  const [body, index] = await allDone([store.read(part.key), readIndexBody(store, part)]);
  if (sha256Of(body) !== part.sha256)
    throw damagedObject(part.key, 'its SHA-256 does not match its manifest');
  store.hold(part.key, body);
  if (typeof index !== 'string') store.hold(indexKey(part.key), index);
}
