import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ObjectKey } from '../../../core/brands.js';
import { GuardedWriter } from '../guarded-writer.js';
import type { WriteOptions, WrittenObject } from '../port.js';
import { type LakeFolder, syncFolder, temporaryName } from './lake-folder.js';

/** Writes a temporary file in the same folder, syncs it, and renames it at the end. The object appears complete or not at all. */
export class FileWriter extends GuardedWriter {
  readonly #folder: LakeFolder;
  readonly #path: string;
  readonly #temporary: string;
  #handle: FileHandle | null = null;

  constructor(folder: LakeFolder, key: ObjectKey, options?: WriteOptions) {
    super(key, options);
    this.#folder = folder;
    this.#path = folder.pathOf(key);
    this.#temporary = join(dirname(this.#path), temporaryName());
  }

  protected async append(chunk: Uint8Array): Promise<void> {
    await this.#folder.run('write', this.key, async () => {
      const handle = await this.#open();
      for (let offset = 0; offset < chunk.length; ) {
        offset += (await handle.write(chunk, offset)).bytesWritten;
      }
    });
  }

  protected async complete(written: WrittenObject): Promise<WrittenObject> {
    return this.#folder.run('write', this.key, async () => {
      const handle = await this.#open();
      await handle.sync();
      await handle.close();
      this.#handle = null;
      await rename(this.#temporary, this.#path);
      await syncFolder(dirname(this.#path));
      return written;
    });
  }

  async #open(): Promise<FileHandle> {
    this.#handle ??= await this.#folder.withFolder(this.#temporary, () => open(this.#temporary, 'wx'));
    return this.#handle;
  }

  protected async discard(): Promise<void> {
    await this.#handle?.close().catch(() => {});
    this.#handle = null;
    await rm(this.#temporary, { force: true }).catch(() => {});
    await this.#folder.prune(this.#temporary);
  }
}
