import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ObjectKey } from '../../../core/brands.js';
import { RunningDigest } from '../digest.js';
import type { ObjectWriter, WriteOptions, WrittenObject } from '../port.js';
import { type LakeFolder, syncFolder, temporaryName } from './lake-folder.js';

/** Writes a temporary file in the same folder, syncs it, and renames it at the end. The object appears complete or not at all. */
export class FileWriter implements ObjectWriter {
  readonly #folder: LakeFolder;
  readonly #key: ObjectKey;
  readonly #path: string;
  readonly #temporary: string;
  readonly #options: Pick<WriteOptions, 'signal'> & { readonly operation: string };
  readonly #digest = new RunningDigest();
  #handle: FileHandle | null = null;
  #working: Promise<unknown> | null = null;
  #failure: { readonly error: unknown } | null = null;
  #done = false;

  constructor(
    folder: LakeFolder,
    key: ObjectKey,
    options: { readonly signal?: AbortSignal | undefined; readonly operation?: string },
  ) {
    this.#folder = folder;
    this.#key = key;
    this.#path = folder.pathOf(key);
    this.#temporary = join(dirname(this.#path), temporaryName());
    this.#options = { operation: 'write', ...options };
  }

  get bytes(): number {
    return this.#digest.bytes;
  }

  async write(chunk: Uint8Array, known?: number): Promise<void> {
    await this.#guard(async () => {
      const handle = await this.#open();
      this.#digest.update(chunk, known);
      for (let offset = 0; offset < chunk.length; ) {
        offset += (await handle.write(chunk, offset)).bytesWritten;
      }
    });
  }

  async finish(): Promise<WrittenObject> {
    return this.#guard(async () => {
      const handle = await this.#open();
      await handle.sync();
      await handle.close();
      this.#handle = null;
      await rename(this.#temporary, this.#path);
      this.#done = true;
      await syncFolder(dirname(this.#path));
      return this.#digest.finish(this.#key);
    });
  }

  async abort(): Promise<void> {
    if (this.#done || this.#failure !== null) return;
    this.#failure = { error: new Error(`The writer of ${this.#key} was aborted`) };
    await this.#working?.catch(() => {});
    await this.#discard();
  }

  async #open(): Promise<FileHandle> {
    this.#handle ??= await this.#folder.withFolder(this.#temporary, () => open(this.#temporary, 'wx'));
    return this.#handle;
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    if (this.#done) throw new Error(`The writer of ${this.#key} has finished`);
    if (this.#failure !== null) throw this.#failure.error;
    try {
      this.#options.signal?.throwIfAborted();
      const working = this.#folder.run(this.#options.operation, this.#key, work);
      this.#working = working;
      return await working;
    } catch (error) {
      if (this.#failure === null) {
        this.#failure = { error };
        await this.#discard();
      }
      throw this.#failure.error;
    }
  }

  async #discard(): Promise<void> {
    await this.#handle?.close().catch(() => {});
    this.#handle = null;
    if (this.#done) return;
    await rm(this.#temporary, { force: true }).catch(() => {});
    await this.#folder.prune(this.#temporary);
  }
}
