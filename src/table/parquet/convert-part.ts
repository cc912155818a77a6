import type { ObjectKey } from '../../core/brands.js';
import { damagedObject } from '../../lake/damaged-error.js';
import type { PublishedPart } from '../../lake/published/manifest.js';
import type { ObjectStore, ObjectWriter, WrittenObject } from '../../lake/store/index.js';
import type { ColumnType } from '../rules/column-type.js';
import { parquetLibrary } from './library.js';
import type { ConversionJob, Converted } from './part-converter.js';
import { idleThread, takeThread } from './thread.js';

export interface PartToConvert {
  readonly part: Pick<PublishedPart, 'key' | 'rows'>;
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
