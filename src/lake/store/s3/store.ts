import type { ObjectKey } from '../../../core/brands.js';
import type { Removal } from '../../../core/removal.js';
import type { LakeSettings } from '../../../core/settings.js';
import { ObjectNotFoundError } from '../errors.js';
import type {
  AbortedUploads,
  Expected,
  ListedObject,
  ListOptions,
  ObjectInfo,
  ObjectStore,
  ObjectWriter,
  ReadOptions,
  StoreLogger,
  SwapResult,
  WriteOptions,
  WrittenObject,
} from '../port.js';
import { S3Connection } from './connection.js';
import { copyObject } from './copy.js';
import { headObject } from './head.js';
import { listFolders, listObjects } from './list.js';
import { putObject } from './put.js';
import { streamObject } from './read.js';
import { abortUploads, removeObjects } from './remove.js';
import { probeUploads } from './start-upload.js';
import { swapObject } from './swap.js';
import { S3Writer } from './writer.js';

/** A lake in a bucket of S3 or of an S3-compatible store. */
export class S3Store implements ObjectStore {
  readonly url: string;
  readonly #s3: S3Connection;

  constructor(
    lake: LakeSettings,
    place: { bucket: string; prefix: string },
    options: { logger: StoreLogger },
  ) {
    this.url = `s3://${place.bucket}${place.prefix === '' ? '' : `/${place.prefix}`}`;
    this.#s3 = new S3Connection(lake, place, options.logger);
  }

  async read(key: ObjectKey, options: ReadOptions = {}): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of streamObject(this.#s3, key, options)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  async readIfExists(key: ObjectKey): Promise<{ body: Buffer; etag: string } | null> {
    const chunks: Buffer[] = [];
    let etag = '';
    const onVersion = (version: { etag: string }) => {
      etag = version.etag;
    };
    try {
      for await (const chunk of streamObject(this.#s3, key, { onVersion })) chunks.push(chunk);
    } catch (error) {
      if (error instanceof ObjectNotFoundError) return null;
      throw error;
    }
    return { body: Buffer.concat(chunks), etag };
  }

  stream(key: ObjectKey, options: ReadOptions = {}): AsyncIterable<Buffer> {
    return streamObject(this.#s3, key, options);
  }

  async write(
    key: ObjectKey,
    body: Uint8Array | readonly Uint8Array[],
    options: WriteOptions = {},
  ): Promise<WrittenObject> {
    return putObject(this.#s3, key, body, options);
  }

  openWriter(key: ObjectKey, options: WriteOptions = {}): ObjectWriter {
    return new S3Writer(this.#s3, key, options);
  }

  async swap(key: ObjectKey, body: Uint8Array, expected: Expected): Promise<SwapResult> {
    return swapObject(this.#s3, key, body, expected);
  }

  async head(key: ObjectKey): Promise<ObjectInfo | null> {
    return headObject(this.#s3, key);
  }

  list(prefix: string, options?: ListOptions): AsyncIterable<ListedObject> {
    return listObjects(this.#s3, prefix, options);
  }

  async listFolders(prefix: string): Promise<string[]> {
    return listFolders(this.#s3, prefix);
  }

  async copy(from: ObjectKey, to: ObjectKey, bytes?: number): Promise<void> {
    return copyObject(this.#s3, from, to, { bytes });
  }

  async remove(keys: readonly ObjectKey[]): Promise<Removal> {
    return removeObjects(this.#s3, keys);
  }

  async abortUploads(
    prefix: string,
    isAbandoned?: (key: ObjectKey, startedAt: number) => boolean,
  ): Promise<AbortedUploads> {
    return abortUploads(this.#s3, prefix, isAbandoned);
  }

  async probeUploads(): Promise<void> {
    return probeUploads(this.#s3);
  }

  close(): void {
    this.#s3.close();
  }
}
