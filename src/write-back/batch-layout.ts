import type { ObjectKey } from '../core/brands.js';
import type { InputFormat } from '../core/contract/write-back.js';
import { InputError } from '../core/input-error.js';
import { textHash } from './idempotency-key.js';

/** The objects of a batch in the lake (docs/reference/lake.md). Objects under `_batch/` are internal. */

const key = (text: string): ObjectKey => text as ObjectKey;

/** The folders of all batches. */
export const BATCHES_PREFIX = '_write-back/';

const folder = (batchId: string): string => `${BATCHES_PREFIX}${batchId}`;

/** What keeps the inputs of a batch apart. */
interface InputName {
  /** Of the content. */
  readonly sha256: string;
  readonly format: InputFormat;
  /** The settings that change what is sent, as text; `''` without any. */
  readonly settings: string;
  /** Whether rows are left out that would change nothing. The file without this is the same batch, and sends them. Default: no. */
  readonly skipUnchanged?: boolean;
}

/** A batch can have several inputs under one id; the hashes of their content and settings keep them apart. */
export function inputKey(
  batchId: string,
  { sha256, format, settings, skipUnchanged = false }: InputName,
): ObjectKey {
  const all = skipUnchanged ? `${settings} skipUnchanged` : settings;
  const suffix = all === '' ? '' : `.${textHash(all).toString('hex')}`;
  return key(`${folder(batchId)}/input.${sha256}${suffix}.${format}`);
}

const INPUT_NAME = /\/input\.([0-9a-f]{64})(?:\.([0-9a-f]{64}))?\.[a-z]+$/;

/** The SHA-256 of an input's content, from its name; `null` for a name of another form. */
export function inputSha256(input: ObjectKey): string | null {
  return INPUT_NAME.exec(input)?.[1] ?? null;
}

/** The states that the records of an input must still have (`ExpectedStates`). @param sha256 of its content */
export function expectedKey(batchId: string, sha256: string): ObjectKey {
  return key(`${folder(batchId)}/_batch/expected.${sha256}.bin`);
}

/** The SHA-256 of its content, from its name. */
export function expectedSha256(expected: ObjectKey): string {
  return expected.slice(0, -'.bin'.length).slice(-64);
}

/** The documents of a batch. */
export function batchKeys(batchId: string) {
  const internal = `${folder(batchId)}/_batch`;
  return {
    results: key(`${folder(batchId)}/results.csv`),
    /** The settings that are fixed at the start of the batch: key column and types. */
    batch: key(`${internal}/batch.json`),
    /** The result of the last run. */
    summary: key(`${internal}/summary.json`),
    /** What the service said when it refused rows that have no outcome. */
    refusals: key(`${internal}/refusals.json`),
    /** The fields of written rows that differ from the service's records, with values. */
    differences: key(`${internal}/differences.json`),
    /** What was found of the written rows afterwards (`Confirmations`). */
    confirmations: key(`${internal}/confirmations.json`),
    plans: `${internal}/plans/`,
  };
}

/**
 * Name of a plan's folder. Names sort by creation. Plans of different inputs, or with chunks of different sizes, never share
 * a folder, so two versions of this package cannot overwrite the chunks of each other.
 */
export function planName(sequence: number, input: ObjectKey, rowsAChunk: number): string {
  return `${pad(sequence)}-${inputHash(input)}-${rowsAChunk}`;
}

/** Whether a plan is one of an input. @param plan key of `plan.json` */
export function isPlanOf(plan: ObjectKey, input: ObjectKey): boolean {
  return /\/\d+-([0-9a-z]+)-\d+\/plan\.json$/.exec(plan)?.[1] === inputHash(input);
}

function inputHash(input: ObjectKey): string {
  const [, content, settings = ''] = INPUT_NAME.exec(input) ?? [];
  return content === undefined ? 'input' : `${content}${settings}`;
}

/** The plan itself, written after its chunks and only once: the first attempt to finish decides which chunks count. */
export function planKey(batchId: string, plan: string): ObjectKey {
  return key(`${batchKeys(batchId).plans}${plan}/plan.json`);
}

/**
 * The objects of a plan. `writer` names the attempt that writes them.
 *
 * @param plan key of `plan.json`
 */
export function planKeys(plan: ObjectKey) {
  const own = plan.slice(0, plan.lastIndexOf('/'));
  return {
    chunk: (writer: string, chunk: number) => key(`${own}/rows/${writer}/${pad(chunk)}.ndjson`),
    /** The hashes of the rows (`RowHashes`). */
    hashes: (writer: string) => key(`${own}/rows/${writer}/hashes.bin`),
    turns: `${own}/turns/`,
    /** What a look-up of the rows found (`TurnFile`). @param claim the number of its claim in the ledger; `null` without one */
    turn: (writer: string, claim: number | null) => key(`${own}/turns/${writer}-${claim ?? 'none'}.json`),
    logs: `${own}/log/`,
    /** `open`: one attempt's intent and its results; `done`: the outcome of every row of the chunk. */
    log: (chunk: number, writer: string, state: 'open' | 'done') =>
      key(`${own}/log/${pad(chunk)}-${writer}.${state}.json`),
  };
}

/** The number of the claim in a turn's key; `null` without one. */
export function parseTurnKey(turn: ObjectKey): number | null {
  const match = /\/turns\/[^/]*-(\d+)\.json$/.exec(turn);
  return match === null ? null : Number(match[1]);
}

/** Chunk and state in a log's key; `null` for other objects. */
export function parseLogKey(log: ObjectKey): { chunk: number; state: 'open' | 'done' } | null {
  const match = /\/(\d{6})-[^/]*\.(open|done)\.json$/.exec(log);
  return match === null ? null : { chunk: Number(match[1]), state: match[2] as 'open' | 'done' };
}

function pad(number: number): string {
  return String(number).padStart(6, '0');
}

/** Validates a batch id, which is part of a lake folder and of a workflow id. @throws InputError */
export function checkBatchId(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text)) return text;
  throw new InputError(`${JSON.stringify(text.slice(0, 120))} is not a valid batch id`, {
    remedy: 'Use 1 to 100 letters, digits, dots, hyphens and underscores, starting with a letter or a digit.',
  });
}
