import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { ObjectKey } from '../../core/brands.js';
import { PACKAGE_ROOT } from '../../core/version.js';
import { damagedObject } from '../../lake/damaged-error.js';
import type { PublishedPart } from '../../lake/documents/manifest.js';
import type { ObjectStore, ObjectWriter, WrittenObject } from '../../lake/store/index.js';
import type { ColumnType } from '../rules/column-type.js';
import type { FromThread, ToThread } from './conversion-thread.js';
import { parquetLibrary } from './library.js';
import type { ConversionJob, Converted } from './part-converter.js';

interface PartToConvert {
  readonly part: Pick<PublishedPart, 'key' | 'rows'>;
  readonly job: ConversionJob;
  /** Key of the file, given the types of its columns. */
  readonly keyOf: (types: readonly ColumnType[]) => ObjectKey;
  readonly signal: AbortSignal;
}

interface ConvertedPart extends Converted {
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
  const thread = takeThread();
  try {
    thread.begin(job, output);
    for await (const chunk of store.stream(part.key, { signal })) await thread.send(chunk);
    const result = await thread.finish();
    if (result.rows !== part.rows)
      throw damagedObject(part.key, `it has ${result.rows} rows instead of the ${part.rows} of its manifest`);
    const file = await output.finish(result.outcome === 'written');
    // Last, because after an error the thread is closed.
    idleThread(thread);
    return { ...result, file };
  } catch (error) {
    await thread.close();
    await output.abort();
    // The rows are not as the manifest says. The message has no cell.
    throw error instanceof RangeError ? damagedObject(part.key, error.message) : error;
  }
}

/** Stores the bytes of the file in the order that the thread sends them. */
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

/** The module of the thread. Tests that run from source use the built one, too. */
const THREAD = fileURLToPath(new URL('dist/src/table/parquet/conversion-thread.js', PACKAGE_ROOT));
/** Pieces of a part that the thread has not taken yet. A piece has some 64 KiB. */
const PIECES_IN_FLIGHT = 4;
/** How long a thread waits for the next part. Then it ends and frees its memory. */
const IDLE_MS = 2000;

/** Receives the file of a conversion. */
interface FileOutput {
  /** Called once, before the first bytes. */
  open(types: readonly ColumnType[]): void;
  write(bytes: Uint8Array): void;
  /** Resolves when all bytes so far are stored. */
  accepted(): Promise<void>;
}

let idle: { readonly thread: ConversionThread; readonly timer: NodeJS.Timeout } | null = null;

/** The thread that converted the last part, or a new one. A used thread has compiled the library already. */
function takeThread(): ConversionThread {
  const kept = idle;
  idle = null;
  if (kept !== null) clearTimeout(kept.timer);
  return kept?.thread.isAlive ? kept.thread : new ConversionThread();
}

/** Keeps a thread for the next part. Neither the thread nor its timer keeps the process alive. */
function idleThread(thread: ConversionThread): void {
  thread.rest();
  const timer = setTimeout(() => {
    if (idle?.thread !== thread) return;
    idle = null;
    void thread.close();
  }, IDLE_MS);
  idle = { thread, timer: timer.unref() };
}

/** A thread that converts one part at a time. After an error it must be closed. */
class ConversionThread {
  readonly #worker = new Worker(THREAD, { execArgv: [] });
  readonly #failed: Promise<never>;
  #output: FileOutput | null = null;
  #resolve: ((result: Converted) => void) | null = null;
  #result: Promise<Converted> | null = null;
  #pending = 0;
  #onTaken: (() => void) | null = null;
  #isAlive = true;

  constructor() {
    this.#worker.on('message', (message: FromThread) => this.#receive(message));
    this.#failed = new Promise((_, reject) => {
      this.#worker.once('error', (error) => reject(threadError(error)));
      this.#worker.once('exit', (code) =>
        reject(new Error(`the conversion to Parquet ended with code ${code}`)),
      );
    });
    this.#failed.catch(() => {
      this.#isAlive = false;
      this.#onTaken?.();
    });
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  begin(job: ConversionJob, output: FileOutput): void {
    this.#output = output;
    const done = new Promise<Converted>((resolve) => {
      this.#resolve = resolve;
    });
    this.#result = Promise.race([done, this.#failed]);
    this.#result.catch(() => {});
    this.#worker.ref();
    this.#post({ kind: 'job', job });
  }

  /** @param bytes the next bytes of the part, as stored */
  async send(bytes: Uint8Array): Promise<void> {
    // A copy is passed on without another one. A view would be passed with the whole buffer that it is part of.
    const copy = new Uint8Array(bytes);
    this.#worker.postMessage({ kind: 'piece', bytes: copy } satisfies ToThread, [copy.buffer]);
    this.#pending++;
    await this.#output!.accepted();
    while (this.#pending >= PIECES_IN_FLIGHT)
      await Promise.race([this.#result, new Promise<void>((resolve) => (this.#onTaken = resolve))]);
  }

  async finish(): Promise<Converted> {
    this.#post({ kind: 'end' });
    return this.#result!;
  }

  rest(): void {
    this.#output = null;
    this.#result = null;
    this.#worker.unref();
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #receive(message: FromThread): void {
    if (message.kind === 'types') this.#output?.open(message.types);
    else if (message.kind === 'bytes') this.#output?.write(message.bytes);
    else if (message.kind === 'done') this.#resolve?.(message.result);
    else {
      this.#pending--;
      this.#onTaken?.();
    }
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
