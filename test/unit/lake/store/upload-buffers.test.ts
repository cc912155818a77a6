import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../../src/core/brands.js';
import type { S3Connection } from '../../../../src/lake/store/s3/connection.js';
import { giveBack, PART_BYTES, takeBuffer } from '../../../../src/lake/store/s3/multipart.js';
import { allFeatures } from '../../../../src/lake/store/s3/s3-client.js';
import { startUpload } from '../../../../src/lake/store/s3/start-upload.js';
import { S3Writer } from '../../../../src/lake/store/s3/write.js';

/** What a connection does around each request. */
const requests = {
  target: (key: string) => ({ Bucket: 'lake', Key: key }),
  run: (_operation: string, _key: string, _signal: unknown, work: () => unknown) => work(),
};

// The buffers are compared by identity outside `expect`, which would print all of their bytes.
describe('Buffers for uploads', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => {
    vi.advanceTimersByTime(60_000);
    vi.useRealTimers();
  });

  it('are used again, one user at a time', () => {
    const [first, second] = [takeBuffer(), takeBuffer()];
    expect([first.length, second.length, first === second]).toEqual([PART_BYTES, PART_BYTES, false]);
    giveBack(first);
    expect([takeBuffer() === first, takeBuffer() === first]).toEqual([true, false]);
  });

  it('are kept for one writer, for some seconds', () => {
    const buffers = [takeBuffer(), takeBuffer(), takeBuffer()];
    for (const buffer of buffers) giveBack(buffer);
    const taken = [takeBuffer(), takeBuffer(), takeBuffer()];
    expect(taken.filter((buffer) => buffers.includes(buffer))).toHaveLength(2);
    for (const buffer of buffers) giveBack(buffer);
    vi.advanceTimersByTime(4_000);
    giveBack(buffers[0]!);
    vi.advanceTimersByTime(4_000);
    expect(buffers.includes(takeBuffer())).toBe(true);
    vi.advanceTimersByTime(2_000);
    expect(buffers.includes(takeBuffer())).toBe(false);
  });

  it('are not kept twice', () => {
    const buffer = takeBuffer();
    giveBack(buffer);
    giveBack(buffer);
    expect([takeBuffer() === buffer, takeBuffer() === buffer]).toEqual([true, false]);
  });

  it('are free after one request, but not after a retry, which the first request may outlive', async () => {
    let attempts = 1;
    const answer = () => ({ UploadId: 'u', ETag: '"e"', $metadata: { attempts } });
    const connection = {
      features: allFeatures(),
      ...requests,
      clientFor: () => ({ send: async () => answer() }),
    } as unknown as S3Connection;
    const upload = await startUpload(connection, 'tasks/a.csv.gz' as ObjectKey, 'write');
    const { signal } = new AbortController();
    expect(await upload.upload(1, Buffer.from('x'), 1, signal)).toBe(true);
    attempts = 2;
    expect(await upload.upload(2, Buffer.from('x'), 1, signal)).toBe(false);
  });

  it('are smaller for an object than for a part, unless one is kept', () => {
    const small = takeBuffer(1024);
    expect(small.length).toBe(1024);
    const large = takeBuffer();
    giveBack(large);
    expect(takeBuffer(1024) === large).toBe(true);
  });

  it('are free after an object that one request has sent', async () => {
    let attempts = 1;
    const connection = {
      keyOf: (key: string) => key,
      ...requests,
      client: { send: async () => ({ $metadata: { attempts } }) },
    } as unknown as S3Connection;
    /** Whether the next writer gets the buffer of an object of 2 MiB. */
    const isFreeAfter = async (): Promise<boolean> => {
      const [buffer] = [takeBuffer(), takeBuffer()];
      giveBack(buffer!);
      const writer = new S3Writer(connection, 'tasks/a.csv.gz' as ObjectKey);
      await writer.write(Buffer.alloc(2 * 1024 * 1024));
      await writer.finish();
      return takeBuffer() === buffer;
    };
    expect(await isFreeAfter()).toBe(true);
    attempts = 2;
    expect(await isFreeAfter()).toBe(false);
  });
});
