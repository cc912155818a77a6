import { createHash } from 'node:crypto';
import { Context } from '@temporalio/activity';
import type { ByteString, ObjectKey } from '../../src/core/brands.js';
import type {
  CorrectedInput,
  PlanWriteBackInput,
  ReadFirst,
  WriteBackPlanned,
} from '../../src/core/contract/write-back.js';
import { MINUTE_MS } from '../../src/core/duration.js';
import { allDone } from '../../src/core/in-parallel.js';
import { InputError } from '../../src/core/input-error.js';
import type { ConnectionSettings } from '../../src/core/settings.js';
import { damagedObject } from '../../src/lake/damaged-error.js';
import type { SortKey } from '../../src/lake/rows/row.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { attemptToken } from '../../src/run/activity-context.js';
import type { ActivityDeps } from '../../src/run/deps.js';
import { checkBatch, readBatch, textColumns } from '../../src/write-back/batch-file.js';
import { inputSha256, planKey, planKeys, planName } from '../../src/write-back/batch-layout.js';
import { PublishedRows, RowComparer } from '../../src/write-back/compare-published.js';
import { ExpectedStates } from '../../src/write-back/expected-states.js';
import type { InputRow } from '../../src/write-back/fields.js';
import { type InputColumn, publishedSnapshotOf, typesOf } from '../../src/write-back/input-columns.js';
import { readInputRows } from '../../src/write-back/input-rows.js';
import {
  cellsHash,
  keyHash,
  type OwnState,
  RowHashes,
  settledState,
} from '../../src/write-back/ledger/row-hashes.js';
import {
  batchKind,
  CHUNK_BYTES,
  type ChunkRow,
  chunkRows,
  encodeChunk,
  encodeChunkRow,
  isPending,
  type PlanFile,
  sendingOf,
} from '../../src/write-back/plan-file.js';
import { BatchPlanner } from '../../src/write-back/planner.js';
import { resendRule } from '../../src/write-back/resend.js';
import { writtenBatch } from '../../src/write-back/results.js';
import { readTargetSystem } from '../../src/write-back/system.js';
import { EarlierRows, withEarlierOutcome } from './earlier-plans.js';
import {
  type NamedBatch,
  readStoredPlans,
  type StoredPlan,
  writeBatchFile,
  writePlan,
} from './stored-batch.js';

/** How long a batch waits for an increment that only a later undo needs. */
const MAX_WAIT_MS = 10 * MINUTE_MS;

/**
 * Reads the input of a batch and decides which rows are sent, and their idempotency keys and bodies. Nothing is sent here,
 * and any error in the input ends the batch. If the last plan has the same input, it is reused.
 */
export async function planWriteBack(
  deps: ActivityDeps,
  input: PlanWriteBackInput,
): Promise<WriteBackPlanned | ReadFirst> {
  const { settings, store } = deps.connection(input.connection);
  const plans = await readStoredPlans(store, input.batchId);
  const last = plans.at(-1);
  const begun = await readBatch(store, input.batchId);
  const target = await readTargetSystem(store, settings, input.system);
  if (begun !== null)
    checkBatch(input.batchId, begun.file, { ...input, kind: batchKind(input.format) }, target);
  const system = target.alsoAt(begun?.file.sameAs ?? []);
  const sending = sendingOf(begun?.file, settings.writeBack, input.resource);
  const named = { ...input, system, sending, connection: begun?.file.connection ?? input.connection };
  const asked = { policy: input.written, system };
  const ended =
    input.resend === undefined ? await writtenBatch(store, input.batchId, [input.input], asked) : null;
  const { giveUpAfterMs } = settings.retries;
  const isContinued =
    continuesPlan(last?.file, input, settings) && (ended !== null || !isOutdated(last!.file));
  const isMade = !isContinued && ended === null;
  if (isMade && input.increment === undefined && isCompared(input, settings)) {
    const isNeeded = input.skipUnchanged === true || isConditional(input);
    return { readFirst: true, giveUpAfterMs, ...(isNeeded ? {} : { waitMs: MAX_WAIT_MS }) };
  }
  if (isMade && isConditional(input) && input.increment !== 'published') throw notCompared(input);
  const plan = isContinued ? last! : await makePlan(store, named, plans, await comparedWith(deps, input));
  return {
    plan: plan.key,
    rows: plan.file.rows,
    results: ended?.written ?? null,
    mirrored: isMirrored(input, settings),
    alerts: settings.notify.some(({ on }) => on.length > 0),
    giveUpAfterMs,
    ...confirmPlan(input, settings),
  };
}

/** How the written rows are looked for: in a mirrored resource, unless the configuration says never. */
function confirmPlan(
  input: PlanWriteBackInput,
  settings: ConnectionSettings,
): Pick<WriteBackPlanned, 'confirm'> {
  const { confirmForMs: forMs } = settings.writeBack[input.resource];
  if (forMs === null || !isMirrored(input, settings)) return {};
  const alerts = settings.notify.some(({ on }) => on.includes('rows-not-confirmed'));
  return { confirm: { forMs, giveUpAfterMs: settings.retries.giveUpAfterMs, alerts } };
}

function isMirrored({ resource }: PlanWriteBackInput, { resources }: ConnectionSettings): boolean {
  return resources.some(({ name }) => name === resource);
}

/** Whether rows are sent only if their records are as expected. A row that a user settles gets no request. */
function isConditional({ expected, resend }: PlanWriteBackInput): boolean {
  return expected !== undefined && resend?.action !== 'reject';
}

function notCompared({ resource }: PlanWriteBackInput): InputError {
  const why = `no increment shows what the records of ${resource} are now`;
  return new InputError(`nothing was sent, because ${why}`, { remedy: 'Run the same undo again.' });
}

/**
 * Whether rows are compared with the published snapshot: to leave some out, and to keep the records as they were for an undo.
 * Creates change no record.
 */
function isCompared(input: PlanWriteBackInput, settings: ConnectionSettings): boolean {
  if (input.resource !== 'calendar-entries' || !isMirrored(input, settings)) return false;
  return input.skipUnchanged === true || isConditional(input) || isKept(input, settings);
}

/** Whether the records are kept as they were. */
function isKept(
  { resource, readBack, resend }: PlanWriteBackInput,
  { writeBack }: ConnectionSettings,
): boolean {
  return writeBack[resource].confirmForMs !== null && readBack !== false && resend?.action !== 'reject';
}

/** How the rows are compared, after the increment that was read for them; `null`: they are not. */
async function comparedWith(deps: ActivityDeps, input: PlanWriteBackInput): Promise<Compared | null> {
  if (input.increment !== 'published') return null;
  const { settings, store } = deps.connection(input.connection);
  const { resource, skipUnchanged, expected } = input;
  const published = await publishedSnapshotOf(store, resource);
  return {
    rows: new PublishedRows(store, settings, { resource, published, now: deps.now() }),
    isSkipped: skipUnchanged === true,
    isKept: isKept(input, settings),
    expected: expected === undefined ? null : await ExpectedStates.read(store, expected),
  };
}

interface Compared {
  readonly rows: PublishedRows;
  /** Whether unchanged rows are left out. */
  readonly isSkipped: boolean;
  /** Whether the records are kept as they were. */
  readonly isKept: boolean;
  /** `null`: rows are sent whatever their records are. */
  readonly expected: ExpectedStates | null;
}

/** A plan for rows that a user has asked for is only for the run that made it. */
function continuesPlan(
  last: PlanFile | undefined,
  { input, resend }: PlanWriteBackInput,
  { baseUrl }: Pick<ConnectionSettings, 'baseUrl'>,
): boolean {
  if (last?.input !== input || last.baseUrl !== baseUrl) return false;
  return resend === undefined ? last.order === undefined : last.order?.run === thisRun();
}

/** Whether the rows were compared in an earlier run: the records may have changed since. */
function isOutdated({ comparedIn }: PlanFile): boolean {
  return comparedIn !== undefined && comparedIn !== thisRun();
}

/** The run of the workflow. All attempts of the activity have the same one. */
function thisRun(): string {
  return Context.current().info.workflowExecution!.runId;
}

/** @param input with the connection's name as the batch began, which the idempotency keys contain */
async function makePlan(
  store: ObjectStore,
  input: NamedBatch,
  before: readonly StoredPlan[],
  how: Compared | null,
): Promise<StoredPlan> {
  const { cancellationSignal: signal } = Context.current();
  const planner = new BatchPlanner({ ...input, form: input.sending.form });
  const corrections = await readCorrections(store, input, before, signal);
  let next = 1;
  const columns = await eachRow(store, input, signal, (row) => {
    planner.survey(row, corrections.rows.get(next++));
  });
  await writeBatchFile(store, input, typesOf(columns));

  const { system } = input;
  // What was sent to another system says nothing about this one.
  const here = before.filter(({ file }) => system.placeOf(file.baseUrl) === 'here');
  const known = here.length === 0 ? null : await EarlierRows.read(store, here, signal);
  const sequence = (before.at(-1)?.file.sequence ?? 0) + 1;
  const rowsAChunk = chunkRows(planner.rows);
  const key = planKey(input.batchId, planName(sequence, input.input, rowsAChunk));
  // Attempts can find different receipts of earlier plans, so each has its own chunks.
  const writer = new ChunkWriter(store, key, attemptToken(), rowsAChunk);
  // Upserts are not looked up: to repeat one does no harm.
  const { keyColumn } = input;
  const hashes = input.resource === 'time-entries' ? new RowHashes(keyColumn !== null) : null;
  const { resend } = input;
  const comparer =
    how && new RowComparer<ChunkRow>(how.rows, signal, (row, found) => writer.add(compared(row, found, how)));
  const decide =
    resend === undefined ? (row: ChunkRow): ChunkRow => row : resendRule(resend, corrections.last);
  next = 1;
  await eachRow(store, input, signal, (row) => {
    const correction = corrections.rows.get(next++);
    const planned = planner.plan(row, correction);
    const cells = hashes === null ? null : cellsHash((correction ?? row).fields);
    const add = (found: ChunkRow): Promise<void> | undefined => {
      const one = planner.withKey(decide(found));
      if (cells !== null)
        hashes?.add(keyColumn === null ? null : keyHash(keyColumn, one.key), cells, plannedState(one));
      return (comparer ?? writer).add(one);
    };
    if (known === null) return add({ ...planned, receipt: null, sentAt: null });
    const asked = { isCorrected: correction !== undefined, isResent: resend !== undefined };
    return withEarlierOutcome(planned, known, asked).then(add);
  });
  await comparer?.finish();
  const { chunks, pending } = await writer.finish();
  if (hashes !== null) {
    await store.write(planKeys(key).hashes(writer.name), hashes.encode());
  }
  const { rows } = planner;
  const { baseUrl } = system;
  const file: PlanFile = {
    sequence,
    baseUrl,
    input: input.input,
    rows,
    chunks,
    pending,
    writer: writer.name,
    ...{ reading: input.reading, lastWins: input.lastWins },
    ...(corrections.inputs.length === 0 ? {} : { corrections: corrections.inputs }),
    ...(resend === undefined ? {} : { order: { ...resend, run: thisRun() } }),
    ...(input.expected === undefined ? {} : { expected: input.expected }),
    ...(input.increment === undefined ? {} : { comparedIn: thisRun() }),
  };
  signal.throwIfAborted();
  return writePlan(store, key, file);
}

/** The row with what its comparison has shown. One that may have been sent is sent again. */
function compared(
  row: ChunkRow,
  found: ReadonlyMap<SortKey, ByteString>,
  { rows, isSkipped, isKept, expected }: Compared,
): ChunkRow {
  // What one that a user has settled keeps is from before it was sent.
  if (!isPending(row) || row.sentAt !== null || row.before !== undefined) return row;
  const skipped = (what: string): ChunkRow => {
    const verdict = { outcome: 'skipped', message: `${what} (run ${rows.runId})` } as const;
    return { ...row, verdict, unchanged: true };
  };
  if (expected?.isSame(row.row, rows.stateOf(row, found)) === false)
    return skipped('changed since the undo was decided: the published snapshot has other values');
  if (isSkipped && rows.compare(row, found).verdict === 'unchanged')
    return skipped('unchanged: the published snapshot has the same values');
  return isKept ? { ...row, before: rows.before(row, found) } : row;
}

interface Corrections {
  readonly inputs: readonly CorrectedInput[];
  /** What is sent in the place of a row, by its number. A user corrects few rows, so they are held in memory. */
  readonly rows: ReadonlyMap<number, InputRow>;
  /** The numbers of the rows in the last file. */
  readonly last: ReadonlySet<number>;
}

/** Reads the corrections of earlier plans for the same input, and those of this run. */
async function readCorrections(
  store: ObjectStore,
  batch: NamedBatch,
  before: readonly StoredPlan[],
  signal: AbortSignal,
): Promise<Corrections> {
  const { resend } = batch;
  const earlier = before.findLast(({ file }) => file.input === batch.input)?.file.corrections ?? [];
  const inputs = resend?.rows === 'corrected' ? [...earlier, resend.corrections] : earlier;
  const rows = new Map<number, InputRow>();
  let last = new Set<number>();
  for (const corrected of inputs) {
    last = new Set();
    await eachRow(store, { ...batch, ...corrected }, signal, (row) => {
      const number = Number(row.correction?.row);
      rows.set(number, row);
      last.add(number);
      return undefined;
    });
  }
  return { inputs, rows, last };
}

function plannedState({ verdict, receipt, sentAt, left }: ChunkRow): OwnState {
  if (verdict !== null) return 'unsent';
  if (receipt !== null) return settledState(receipt);
  if (left !== true) return 'open';
  return sentAt === null ? 'left' : 'doubtful';
}

/** Reads the input and visits each row. Returns the columns of a CSV input. */
async function eachRow(
  store: ObjectStore,
  { batchId, resource, format, input, reading, keyColumn }: NamedBatch,
  signal: AbortSignal,
  visit: (row: InputRow) => Promise<void> | undefined,
): Promise<readonly InputColumn[]> {
  let columns: readonly InputColumn[] = [];
  const types = {
    published: (await publishedSnapshotOf(store, resource))?.columns ?? [],
    fixed: (await readBatch(store, batchId))?.file.types ?? {},
    text: textColumns(resource),
  };
  const onColumns = (found: readonly InputColumn[]): void => {
    columns = found;
  };
  const options = { format, types, reading, keyColumn, onColumns };
  for await (const rows of readInputRows(unchanged(store, input, signal), options)) {
    for (const row of rows) {
      const visited = visit(row);
      if (visited !== undefined) await visited;
    }
  }
  return columns;
}

/** Reads an input. @throws DamagedError at its end if its bytes are not those that were copied into the lake */
async function* unchanged(
  store: ObjectStore,
  input: ObjectKey,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  for await (const chunk of store.stream(input, { signal })) {
    hash.update(chunk);
    yield chunk;
  }
  const expected = inputSha256(input);
  if (expected !== null && hash.digest('hex') !== expected)
    throw damagedObject(input, 'its content does not match the checksum in its name');
}

const CONCURRENCY = 4;

/** Writes the rows of a plan, chunk by chunk. */
export class ChunkWriter {
  readonly #chunks: number[] = [];
  readonly #pending: number[] = [];
  readonly #writing = new Set<Promise<void>>();
  #lines: Buffer[] = [];
  #bytes = 0;
  #hasPending = false;

  /** @param name of the attempt that writes the chunks */
  constructor(
    private readonly store: ObjectStore,
    private readonly plan: ObjectKey,
    readonly name: string,
    private readonly rowsAChunk: number,
  ) {}

  /** Adds a row. Returns a promise only if the next row must wait for it. */
  add(row: ChunkRow): Promise<void> | undefined {
    const line = encodeChunkRow(row);
    this.#lines.push(line);
    this.#bytes += line.length;
    this.#hasPending ||= isPending(row);
    const isFull = this.#lines.length >= this.rowsAChunk || this.#bytes >= CHUNK_BYTES;
    return isFull ? this.#next() : undefined;
  }

  /** Writes the last chunk. Returns the row count of each chunk, and the chunks with rows to send. */
  async finish(): Promise<{ chunks: readonly number[]; pending: readonly number[] }> {
    if (this.#lines.length > 0) await this.#next();
    await allDone([...this.#writing]);
    return { chunks: this.#chunks, pending: this.#pending };
  }

  async #next(): Promise<void> {
    const number = this.#chunks.push(this.#lines.length) - 1;
    if (this.#hasPending) this.#pending.push(number);
    const body = encodeChunk(this.#lines);
    this.#lines = [];
    this.#bytes = 0;
    this.#hasPending = false;
    const writing: Promise<void> = this.store
      .write(planKeys(this.plan).chunk(this.name, number), body)
      .then(() => void this.#writing.delete(writing));
    writing.catch(() => {});
    this.#writing.add(writing);
    if (this.#writing.size < CONCURRENCY) return;
    // A failed attempt must not keep writing.
    await Promise.race(this.#writing).catch(() => allDone([...this.#writing]));
  }
}
