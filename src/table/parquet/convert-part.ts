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

async function convert(
  store: ObjectStore,
  { part, job, keyOf, signal }: PartToConvert,
): Promise<ConvertedPart> {
  signal.throwIfAborted();
  const thread = takeThread();
  const output: { file: ObjectWriter | null } = { file: null };
  const save = async (answer: Promise<FromThread>): Promise<Converted | null> => {
    const { types, bytes, result } = await answer;
    if (types !== null) output.file = store.openWriter(keyOf(types), { signal });
    for (const piece of bytes) await output.file!.write(piece);
    return result;
  };
  try {
    let answer = thread.ask({ kind: 'job', job });
    for await (const chunk of store.stream(part.key, { signal })) {
      // The thread converts a piece while the next one is on its way. A copy is passed on without another one; a view would
      // be passed with the whole buffer that it is part of.
      const next = thread.ask({ kind: 'piece', bytes: new Uint8Array(chunk) });
      await save(answer);
      answer = next;
    }
    const end = thread.ask({ kind: 'end' });
    await save(answer);
    const result = (await save(end))!;
    if (result.rows !== part.rows)
      throw damagedObject(part.key, `it has ${result.rows} rows instead of the ${part.rows} of its manifest`);
    const isValid = result.outcome === 'written';
    const file = isValid ? ((await output.file?.finish()) ?? null) : null;
    if (!isValid) await output.file?.abort();
    // Last, because after an error the thread is closed.
    idleThread(thread);
    return { ...result, file };
  } catch (error) {
    await thread.close();
    await output.file?.abort();
    // The rows are not as the manifest says. The message has no cell.
    throw error instanceof RangeError ? damagedObject(part.key, error.message) : error;
  }
}

/** The module of the thread. Tests that run from source use the built one, too. */
const THREAD = fileURLToPath(new URL('dist/src/table/parquet/conversion-thread.js', PACKAGE_ROOT));
/** How long a thread waits for the next part. Then it ends and frees its memory. */
const IDLE_MS = 2000;

let idle: { readonly thread: ConversionThread; readonly timer: NodeJS.Timeout } | null = null;

/** The thread that converted the last part, or a new one. A used thread has compiled the library already. */
function takeThread(): ConversionThread {
  const kept = idle;
  idle = null;
  if (kept !== null) clearTimeout(kept.timer);
  const thread = kept?.thread.isAlive ? kept.thread : new ConversionThread();
  thread.worker.ref();
  return thread;
}

/** Keeps a thread for the next part. Neither the thread nor its timer keeps the process alive. */
function idleThread(thread: ConversionThread): void {
  thread.worker.unref();
  const timer = setTimeout(() => {
    if (idle?.thread !== thread) return;
    idle = null;
    void thread.close();
  }, IDLE_MS);
  idle = { thread, timer: timer.unref() };
}

/** A thread that converts one part at a time. After an error it must be closed. */
class ConversionThread {
  readonly worker = new Worker(THREAD, { execArgv: [] });
  /** Messages without an answer, in the order of the answers. */
  readonly #asked: { resolve: (answer: FromThread) => void; reject: (error: Error) => void }[] = [];
  #failure: Error | null = null;

  constructor() {
    // Node.js can deliver an error before the answers that were sent earlier. Then no one waits for these any more.
    this.worker.on('message', (answer: FromThread) => this.#asked.shift()?.resolve(answer));
    this.worker.once('error', (error) => this.#fail(threadError(error)));
    this.worker.once('exit', (code) =>
      this.#fail(new Error(`the conversion to Parquet ended with code ${code}`)),
    );
  }

  get isAlive(): boolean {
    return this.#failure === null;
  }

  ask(message: ToThread): Promise<FromThread> {
    const answer = new Promise<FromThread>((resolve, reject) => {
      if (this.#failure !== null) return reject(this.#failure);
      this.#asked.push({ resolve, reject });
      this.worker.postMessage(message, message.kind === 'piece' ? [message.bytes.buffer] : []);
    });
    // It may be awaited after an error, or never.
    answer.catch(() => {});
    return answer;
  }

  async close(): Promise<void> {
    await this.worker.terminate();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#asked.splice(0)) reject(this.#failure);
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
