import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { ObjectKey } from '../../core/brands.js';
import { PACKAGE_ROOT } from '../../core/version.js';
import { damagedObject } from '../../lake/damaged-error.js';
import { gunzipper, plainUnpacker } from '../../lake/part/gunzip.js';
import type { PublishedPart } from '../../lake/published/manifest.js';
import type { ObjectStore, ObjectWriter, WrittenObject } from '../../lake/store/index.js';
import type { ColumnType } from '../rules/column-type.js';
import { parquetLibrary } from './library.js';
import type { ConversionJob, Converted } from './part-converter.js';
import type { FromThread, ToThread } from './worker.js';

/** The module of the thread. Tests that run from source use the built one, too. */
const THREAD = fileURLToPath(new URL('dist/src/table/parquet/worker.js', PACKAGE_ROOT));
/** Pieces of a part that the thread has not taken yet. A piece has at most 64 KiB, or some MiB of well-packed text. */
const PIECES_IN_FLIGHT = 4;

export interface PartToConvert {
  readonly part: Pick<PublishedPart, 'key' | 'rows'>;
  readonly compression: 'gzip' | 'none';
  readonly job: ConversionJob;
  /** Key of the file, given the types of its columns. */
  readonly keyOf: (types: readonly ColumnType[]) => ObjectKey;
  readonly signal: AbortSignal;
}

export interface ConvertedPart extends Converted {
  /** `null` if the file is not valid, so that it was not stored. */
  readonly file: WrittenObject | null;
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Converts a part of a snapshot to a Parquet file in the store. One thread works at a time, so that memory is bounded
 * however many resources are exported.
 *
 * @throws ConfigurationError if the Parquet packages are missing; DamagedError if the part does not match its manifest
 */
export async function convertPart(store: ObjectStore, input: PartToConvert): Promise<ConvertedPart> {
  await parquetLibrary();
  const turn = last.then(() => convert(store, input));
  last = turn.catch(() => {});
  return turn;
}

async function convert(store: ObjectStore, input: PartToConvert): Promise<ConvertedPart> {
  const { part, job, signal } = input;
  signal.throwIfAborted();
  const output = new Output(store, input);
  const thread = new ConversionThread(job, output);
  try {
    const unpacker = input.compression === 'gzip' ? gunzipper() : plainUnpacker;
    try {
      for await (const chunk of store.stream(part.key, { signal }))
        for await (const piece of unpacker.push(chunk)) await thread.send(piece);
      for await (const piece of unpacker.end()) await thread.send(piece);
    } finally {
      unpacker.close();
    }
    const result = await thread.finish();
    if (result.rows !== part.rows)
      throw damagedObject(part.key, `it has ${result.rows} rows instead of the ${part.rows} of its manifest`);
    return { ...result, file: await output.finish(result.outcome === 'written') };
  } catch (error) {
    await output.abort();
    // The rows are not as the manifest says. The message has no cell.
    throw error instanceof RangeError ? damagedObject(part.key, error.message) : error;
  } finally {
    await thread.close();
  }
}

/** Stores the bytes of the file in the order in which the thread sends them. */
class Output {
  readonly #store: ObjectStore;
  readonly #input: PartToConvert;
  #writer: ObjectWriter | null = null;
  #written: Promise<void> = Promise.resolve();

  constructor(store: ObjectStore, input: PartToConvert) {
    this.#store = store;
    this.#input = input;
  }

  open(types: readonly ColumnType[]): void {
    const { keyOf, signal } = this.#input;
    this.#writer = this.#store.openWriter(keyOf(types), {
      contentType: 'application/vnd.apache.parquet',
      signal,
    });
  }

  write(bytes: Uint8Array): void {
    this.#written = this.#written.then(() => this.#writer!.write(bytes));
    this.#written.catch(() => {});
  }

  /** Resolves when the store has accepted all bytes so far. */
  accepted(): Promise<void> {
    return this.#written;
  }

  async finish(isValid: boolean): Promise<WrittenObject | null> {
    await this.#written;
    if (isValid) return (await this.#writer?.finish()) ?? null;
    await this.#writer?.abort();
    return null;
  }

  async abort(): Promise<void> {
    await this.#written.catch(() => {});
    await this.#writer?.abort();
  }
}

/** The thread of one conversion. */
class ConversionThread {
  readonly #worker: Worker;
  readonly #output: Output;
  readonly #result: Promise<Converted>;
  #pending = 0;
  #onTaken: (() => void) | null = null;

  constructor(job: ConversionJob, output: Output) {
    this.#output = output;
    this.#worker = new Worker(THREAD, { workerData: job, execArgv: [] });
    this.#result = new Promise((resolve, reject) => {
      this.#worker.on('message', (message: FromThread) => this.#receive(message, resolve));
      this.#worker.once('error', (error) => reject(threadError(error)));
      this.#worker.once('exit', (code) =>
        reject(new Error(`the conversion to Parquet ended with code ${code}`)),
      );
    });
    this.#result.catch(() => this.#onTaken?.());
  }

  #receive(message: FromThread, resolve: (result: Converted) => void): void {
    if (message.kind === 'types') this.#output.open(message.types);
    else if (message.kind === 'bytes') this.#output.write(message.bytes);
    else if (message.kind === 'done') resolve(message.result);
    else {
      this.#pending--;
      this.#onTaken?.();
    }
  }

  async send(piece: ToThread): Promise<void> {
    this.#worker.postMessage(piece);
    this.#pending++;
    await this.#output.accepted();
    while (this.#pending >= PIECES_IN_FLIGHT)
      await Promise.race([this.#result, new Promise<void>((resolve) => (this.#onTaken = resolve))]);
  }

  async finish(): Promise<Converted> {
    this.#worker.postMessage(null satisfies ToThread);
    return this.#result;
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}

/**
 * The error of a thread. It has lost its class. A repetition gives the same error, so none of these is retried. Messages of
 * the library can contain values, so they are replaced.
 */
function threadError({ name, message }: Error): Error {
  if (name === 'RangeError') return new RangeError(message);
  if (name === 'TypeError' || name === 'ReferenceError') return new TypeError(message);
  return new TypeError(`the Parquet library cannot write a value (${name})`);
}
