import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { PACKAGE_ROOT } from '../../core/version.js';
import type { ColumnType } from '../rules/column-type.js';
import type { ConversionJob, Converted } from './part-converter.js';
import type { FromThread, ToThread } from './worker.js';

/** The module of the thread. Tests that run from source use the built one, too. */
const THREAD = fileURLToPath(new URL('dist/src/table/parquet/worker.js', PACKAGE_ROOT));
/** Pieces of a part that the thread has not taken yet. A piece has some 64 KiB. */
const PIECES_IN_FLIGHT = 4;
/** How long a thread waits for the next part. Then it ends and frees its memory. */
const IDLE_MS = 2000;

/** Receives the file of a conversion. */
export interface FileOutput {
  /** Called once, before the first bytes. */
  open(types: readonly ColumnType[]): void;
  write(bytes: Uint8Array): void;
  /** Resolves when all bytes so far are stored. */
  accepted(): Promise<void>;
}

let idle: { readonly thread: ConversionThread; readonly timer: NodeJS.Timeout } | null = null;

/** The thread that converted the last part, or a new one. A used thread has compiled the library already. */
export function takeThread(): ConversionThread {
  const kept = idle;
  idle = null;
  if (kept !== null) clearTimeout(kept.timer);
  return kept?.thread.isAlive ? kept.thread : new ConversionThread();
}

/** Keeps a thread for the next part. Neither the thread nor its timer keeps the process alive. */
export function idleThread(thread: ConversionThread): void {
  thread.rest();
  const timer = setTimeout(() => {
    if (idle?.thread !== thread) return;
    idle = null;
    void thread.close();
  }, IDLE_MS);
  idle = { thread, timer: timer.unref() };
}

/** A thread that converts one part after the other. After an error it must be closed. */
export class ConversionThread {
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
