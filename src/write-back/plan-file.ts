import type { EpochMs, ObjectKey } from '../core/brands.js';
import type {
  CorrectedInput,
  InputFormat,
  InputReading,
  ResendOrder,
  RowOutcome,
  WritableResource,
} from '../core/contract/write-back.js';
import type { KeyForm, WriteBackSettings } from '../core/settings.js';
import type { RunClocks } from '../lake/documents/run-file.js';
import type { BeforeRow } from './compare-published.js';
import type { CellTypes } from './input-columns.js';
import type { PlannedRow } from './planner.js';
import type { RecordDifferences } from './record-differences.js';
import { earliestOf } from './request-age.js';
import { readSealedLines, sealLine } from './sealed.js';

/** `batch.json`: the settings of all runs of a batch. */
export interface BatchFile {
  /** The connection that the batch began with. The rows' idempotency keys contain it, even if it is renamed later. */
  readonly connection: string;
  /** Where its last run has sent rows. */
  readonly baseUrl: string;
  /** Other addresses that are known to be the same system. */
  readonly sameAs: readonly string[];
  readonly resource: WritableResource;
  /**
   * Fingerprints of the API keys that belong to the batch's organization, the newest last. The first run writes that of its key
   * (`ServiceClient.keyFingerprint`). A later run whose key has another one sends nothing before the same organization is shown.
   * Absent: an earlier build wrote the file.
   */
  readonly keys?: readonly string[];
  /** How its rows are sent. The first run fixes it, apart from the path. */
  readonly sending: SendingRules;
  /** CSV and JSON inputs compute row keys differently. */
  readonly kind: 'csv' | 'json';
  readonly keyColumn: string | null;
  /** Types of CSV columns. They are fixed so that a row is sent the same way every time. */
  readonly types: CellTypes;
}

/** How the rows of a batch are sent. A change in the configuration applies to later batches. */
export interface SendingRules {
  readonly form: KeyForm;
  /** The header with the idempotency key. */
  readonly header: string;
  /** Whether a row in doubt is sent again. */
  readonly repeat: 'always' | 'never';
  readonly path: string;
  /** How an upsert is sent. Creates do not have a style. */
  readonly style: WriteBackSettings['calendar-entries']['style'] | null;
}

export function sendingRules(settings: WriteBackSettings, resource: WritableResource): SendingRules {
  const { path, repeat, idempotencyKey } = settings[resource];
  const style = resource === 'calendar-entries' ? settings[resource].style : null;
  return { ...idempotencyKey, repeat, path, style };
}

/**
 * How a batch is sent now: as its first run has fixed it. Only the path follows the configuration, because a wrong one has to be
 * corrected in a batch, too; the service honours an idempotency key wherever it is sent.
 */
export function sendingOf(
  begun: Pick<BatchFile, 'sending'> | undefined,
  settings: WriteBackSettings,
  resource: WritableResource,
): SendingRules {
  const configured = sendingRules(settings, resource);
  return begun === undefined ? configured : { ...begun.sending, path: configured.path };
}

export function batchKind(format: InputFormat): BatchFile['kind'] {
  return format === 'csv' ? 'csv' : 'json';
}

/** `plan.json`: one pass over one input. */
export interface PlanFile {
  /** From 1 within the batch. */
  readonly sequence: number;
  /** The address that its rows are sent to. */
  readonly baseUrl: string;
  readonly input: ObjectKey;
  readonly rows: number;
  /** Number of rows in each chunk. */
  readonly chunks: readonly number[];
  /** Numbers of the chunks that have rows to send. */
  readonly pending: readonly number[];
  /** The attempt that wrote the chunks. Chunks of other attempts do not count. */
  readonly writer: string;
  /** How the input is read, so that a later plan can read it again. */
  readonly reading?: InputReading | undefined;
  readonly lastWins?: boolean | undefined;
  /** Files whose rows replace rows of the input. Of several rows for one, the last counts. */
  readonly corrections?: readonly CorrectedInput[] | undefined;
  /** Set if the plan sends only rows that a user has asked for. @member run the run that made the plan */
  readonly order?: (ResendOrder & { readonly run: string }) | undefined;
  /** As in `WriteBackInput`. */
  readonly expected?: ObjectKey | undefined;
  /** The run whose increment the rows were compared after. Absent: they were not compared. */
  readonly comparedIn?: string | undefined;
}

/** What the service said about a row: the status of its response, and its message. */
export interface Said {
  readonly status: number | null;
  readonly message: string | null;
}

/** The final result of a row. */
export interface RowReceipt extends Said {
  readonly outcome: RowOutcome;
  readonly id: string | null;
  /** What the service's record says other than the row; absent if nothing does. */
  readonly found?: RecordDifferences;
  /** Set if a user has settled the row. */
  readonly byHand?: true;
  /** Of a row that a user has settled: it may have been sent without a known outcome, at this time or later. Absent: it was not. */
  readonly sentAt?: EpochMs;
}

/** What a user has decided about a row (`ResendOrder`), and what must be known to decide again. Absent members: nothing. */
interface RowDecision {
  /** The number of its idempotency key; absent: the first key, which has no number. */
  readonly keyNumber?: number;
  /** A user has asked to send it again. */
  readonly asked?: true;
  /** The plan does not send it, because a user has asked for other rows. */
  readonly left?: true;
  /** Its verdict is from the comparison with the published snapshot, so no earlier plan has sent it. */
  readonly unchanged?: true;
  /** The rejection that stands until the row is sent again. */
  readonly stands?: RowReceipt;
  /** Of a row in doubt: what the last response said. @member isComplete whether a complete response to its current key leaves the outcome unknown */
  readonly said?: Said & { readonly isComplete: boolean };
}

/** A row in a plan's chunk. */
export interface ChunkRow extends PlannedRow, RowDecision {
  /** The result from an earlier plan of the batch. */
  readonly receipt: RowReceipt | null;
  /** Set if an earlier plan may have sent it without a known outcome, at this time or later. */
  readonly sentAt: EpochMs | null;
  /** Of an upsert that is sent or was: its record before that. Absent: it is not kept. */
  readonly before?: BeforeRow;
}

/** Encodes a row as a line of a chunk. The body of a row that is neither sent nor written, and so never confirmed, is left out. */
export function encodeChunkRow(row: ChunkRow): Buffer {
  const hasBody = isPending(row) || isWritten(row.receipt);
  return Buffer.from(`${JSON.stringify(hasBody ? row : { ...row, body: '{}' })}\n`);
}

/** Ends the lines of a chunk. */
export function encodeChunk(lines: readonly Buffer[]): Buffer {
  const body = Buffer.concat(lines);
  return Buffer.concat([body, sealLine(body, lines.length)]);
}

/**
 * @param rows the number of rows that the plan says
 * @throws DamagedError if the chunk is not exactly what was written
 */
export function decodeChunk(key: ObjectKey, chunk: Buffer, rows: number): ChunkRow[] {
  return readSealedLines(key, chunk, rows).map((line) => JSON.parse(line) as ChunkRow);
}

/** Whether a row of a plan must be sent. */
export function isPending({ verdict, receipt, left }: ChunkRow): boolean {
  return verdict === null && receipt === null && left !== true;
}

const MAX_CHUNK_ROWS = 1000;
const MIN_CHUNK_ROWS = 250;
const TARGET_CHUNKS = 2000;

/** Size limit of a chunk in bytes. A whole chunk is held in memory. */
export const CHUNK_BYTES = 2 * 1024 * 1024;

/**
 * Rows per chunk. The intent to send is recorded per chunk, which takes six requests to the store. Chunks are small, because
 * after a worker was killed, every row of its chunks may have been sent. They are large enough that these requests take
 * little time, and that the objects of a large batch can be listed quickly.
 */
export function chunkRows(rows: number): number {
  return Math.min(MAX_CHUNK_ROWS, Math.max(MIN_CHUNK_ROWS, Math.ceil(rows / TARGET_CHUNKS)));
}

/**
 * The log of one attempt to send a chunk. It is written before the attempt's first request and again with the results.
 * Once it is `closed`, and always with `isNamed`, this attempt has not sent any row that is not in `rows`.
 */
export interface ChunkLog {
  /** The run of the batch that the attempt belongs to. */
  readonly run: string;
  /** The clocks before the attempt sent the first row of the chunk. */
  readonly at: RunClocks;
  /** Number of rows of the chunk that the service has accepted from this attempt. */
  readonly accepted: number;
  readonly closed: boolean;
  /** Whether each row is in the log before it is sent, so that no other row was sent. */
  readonly isNamed?: true;
  readonly rows: readonly LoggedRow[];
}

/**
 * A row by its index in the chunk, from 0.
 * - `tried`: it may have been sent, and no response confirmed the result.
 * - `unclear`: as `tried`, but the response was complete, so that the same run does not send it again.
 * - `held`: the service refused it, so this attempt did not write it. Whether the refusal is about the row is not known yet.
 */
export type LoggedRow =
  | readonly [
      index: number,
      outcome: RowOutcome,
      status: number | null,
      id: string | null,
      message: string | null,
      found?: RecordDifferences,
    ]
  | readonly [...OpenRow<'tried'>, failing?: RepeatedFailure]
  | OpenRow<'unclear'>
  | OpenRow<'held'>;

/** A row that has no outcome. */
type OpenRow<What> = readonly [
  index: number,
  what: What,
  status: number | null,
  id: null,
  message: string | null,
];

/** A complete failure that a row may get each time. */
export interface RepeatedFailure {
  /** Status and hash of the body, equal for equal answers. */
  readonly sameness: string;
  /** When the row got it first, and last. */
  readonly firstAt: EpochMs;
  readonly lastAt: number;
  /** How often it came again after another row was accepted. */
  readonly repeats: number;
  /** Set if another row was accepted since the last time. */
  readonly isPassed?: true;
}

/** The entry of a row with an outcome. */
export function loggedReceipt(index: number, receipt: RowReceipt): LoggedRow {
  const { outcome, status, id, message, found } = receipt;
  return [index, outcome, status, id, message, ...(found === undefined ? ([] as const) : ([found] as const))];
}

/** The state of a row according to the logs of all attempts, and what the last response said. */
export interface RowState extends Said {
  readonly receipt: RowReceipt | null;
  /** The earliest time when it may have been sent without a known outcome; `null` if it was not. */
  readonly sentAt: number | null;
  /** The runs whose complete responses left the outcome unknown. */
  readonly unclearIn: readonly string[];
  /** The runs that may have sent it to a service that ignores keys (`ChunkLog.isNamed`). */
  readonly sentIn: readonly string[];
  /** A refusal that has not become an outcome; `null` if there is none. */
  readonly held: (Said & { readonly run: string }) | null;
  /** The latest failure of a row in doubt; `null` if there is none. */
  readonly failing: RepeatedFailure | null;
}

const NOTHING_KNOWN: RowState = {
  receipt: null,
  sentAt: null,
  status: null,
  message: null,
  unclearIn: [],
  sentIn: [],
  held: null,
  failing: null,
};

/** States by index in the chunk; a row without a state was never sent. @param rows number of rows in the chunk */
export function mergeLogs(logs: readonly ChunkLog[], rows: number): Map<number, RowState> {
  const states = new Map<number, RowState>();
  const add = (index: number, more: Partial<RowState>): void => {
    states.set(index, { ...NOTHING_KNOWN, ...states.get(index), ...more });
  };
  const markUnknown = (index: number, at: number, more: Partial<RowState> = {}): void => {
    add(index, { sentAt: Math.min(at, states.get(index)?.sentAt ?? at), ...more });
  };
  // Several runs can send the rows of a plan.
  const addRun = (index: number, to: 'unclearIn' | 'sentIn', run: string): void => {
    add(index, { [to]: [...(states.get(index)?.[to] ?? []), run] });
  };
  for (const { run, at: clocks, closed, isNamed, rows: logged } of logs) {
    const at = earliestOf(clocks);
    const named = new Set<number>();
    for (const [index, outcome, status, id, message, more] of logged) {
      named.add(index);
      const said = message === null ? {} : { status, message };
      if (isNamed === true && (outcome === 'tried' || outcome === 'unclear')) addRun(index, 'sentIn', run);
      if (outcome === 'unclear') addRun(index, 'unclearIn', run);
      if (outcome === 'tried')
        markUnknown(index, at, { ...said, failing: later(states.get(index)?.failing, more) });
      else if (outcome === 'unclear') markUnknown(index, at, said);
      else if (outcome === 'held') add(index, { held: { run, status, message } });
      else if (!isWritten(states.get(index)?.receipt ?? null))
        add(index, {
          receipt: { outcome, status, id, message, ...(more === undefined ? {} : { found: more }) },
          sentAt: null,
        });
    }
    if (closed || isNamed === true) continue;
    for (let index = 0; index < rows; index++) if (!named.has(index)) markUnknown(index, at);
  }
  return states;
}

/** Attempts can overlap, and the order of their logs says nothing. */
function later(
  one: RepeatedFailure | null = null,
  other: RepeatedFailure | null = null,
): RepeatedFailure | null {
  return one === null || (other !== null && other.lastAt > one.lastAt) ? other : one;
}

/** A row's outcome, or when it may have been sent: from an earlier plan of its batch, and the logs of this one. */
export function knownOf(
  row: Pick<ChunkRow, 'receipt' | 'sentAt'>,
  state: RowState | undefined,
): Pick<ChunkRow, 'receipt' | 'sentAt'> {
  const receipt = row.receipt ?? state?.receipt ?? null;
  const times = [row.sentAt, state?.sentAt ?? null].filter((time) => time !== null);
  return { receipt, sentAt: receipt !== null || times.length === 0 ? null : Math.min(...times) };
}

/** The rejection of a row that was to be sent again, and was not; `null` if there is none. */
export function standingOf(
  { stands, sentAt }: Pick<ChunkRow, 'stands' | 'sentAt'>,
  state: RowState | undefined,
): RowReceipt | null {
  // A user may have settled it after it was sent.
  const isSent = (state?.sentAt ?? null) !== null || (sentAt !== null && stands?.sentAt === undefined);
  return isSent ? null : (stands ?? null);
}

/** Whether the service has answered the row. Otherwise a user has settled it, and it may have been written before. */
export function isAnswered({ outcome, byHand }: Pick<RowReceipt, 'outcome' | 'byHand'>): boolean {
  return outcome !== 'skipped' && byHand !== true;
}

/** Whether the service has confirmed the record. The result of another attempt does not change that. */
export function isWritten(receipt: Pick<RowReceipt, 'outcome'> | null): boolean {
  return receipt?.outcome === 'created' || receipt?.outcome === 'updated';
}
