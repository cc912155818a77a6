import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ObjectKey } from '../../../../src/core/brands.js';
import type { S3Connection } from '../../../../src/lake/store/s3/connection.js';
import { PART_BYTES } from '../../../../src/lake/store/s3/multipart.js';
import { allFeatures } from '../../../../src/lake/store/s3/s3-client.js';
import { startUpload } from '../../../../src/lake/store/s3/start-upload.js';
import { giveBack, takeBuffer } from '../../../../src/lake/store/s3/upload-buffers.js';
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

  it('are smaller at the beginning of an object', () => {
    expect([takeBuffer('object').length, takeBuffer('part').length]).toEqual([1024 * 1024, PART_BYTES]);
  });

  it('are free after an object that one request has sent', async () => {
    let attempts = 1;
    const connection = {
      keyOf: (key: string) => key,
      ...requests,
      client: { send: async () => ({ $metadata: { attempts } }) },
    } as unknown as S3Connection;
    /** Whether the next writer gets the buffer of an object. */
    const isFreeAfter = async (of: 'object' | 'part', bytes: number): Promise<boolean> => {
      const buffer = takeBuffer(of);
      giveBack(buffer);
      const writer = new S3Writer(connection, 'tasks/a.csv.gz' as ObjectKey);
      await writer.write(Buffer.alloc(bytes));
      await writer.finish();
      return takeBuffer(of).buffer === buffer.buffer;
    };
    expect(await isFreeAfter('object', 1024)).toBe(true);
    expect(await isFreeAfter('part', 2 * 1024 * 1024)).toBe(true);
    attempts = 2;
    expect(await isFreeAfter('object', 1024)).toBe(false);
    expect(await isFreeAfter('part', 2 * 1024 * 1024)).toBe(false);
  });
});
