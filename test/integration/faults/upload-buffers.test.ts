import { randomBytes } from 'node:crypto';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ObjectStore, openStore, toObjectKey } from '../../../src/lake/store/index.js';
import { rounds } from '../../support/seeds.js';
import { startTestS3, type TestS3 } from '../../support/versitygw.js';

const BUCKET = 'lake';
const MIB = 1024 * 1024;

let s3: TestS3;
let store: ObjectStore;

beforeAll(async () => {
  s3 = await startTestS3();
  process.env.AWS_ACCESS_KEY_ID = s3.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = s3.secretAccessKey;
  const options = { endpoint: s3.endpoint, region: 'us-east-1', forcePathStyle: true };
  const admin = new S3Client(options);
  await admin.send(new CreateBucketCommand({ Bucket: BUCKET }));
  admin.destroy();
  store = openStore({ url: `s3://${BUCKET}`, ...options });
});

afterAll(async () => {
  store?.close();
  await s3?.stop();
});

/** Documents have smaller limits. */
const partKey = (name: string) => toObjectKey(`tasks/snapshots/dt=2026-11-21/run=1/part-${name}.csv`);

it('writers that use the same buffers in turn, even after one is aborted, never mix their bytes', async () => {
  /** Writes a MiB at a time, so that the writers take turns. */
  const write = async (name: string, size: number): Promise<Buffer> => {
    const body = randomBytes(size * MIB);
    const writer = store.openWriter(partKey(name));
    for (let at = 0; at < body.length; at += MIB) await writer.write(body.subarray(at, at + MIB));
    await writer.finish();
    return body;
  };
  const abort = async (name: string, size: number): Promise<void> => {
    const writer = store.openWriter(partKey(name));
    for (let n = 0; n < size; n++) await writer.write(randomBytes(MIB));
    await writer.abort();
  };
  for (let round = 0; round < rounds(1); round++) {
    const sizes = [3, 8, 9, 20];
    const [bodies] = await Promise.all([
      Promise.all(sizes.map((size) => write(`${round}/${size}`, size))),
      abort(`${round}/aborted`, 12),
    ]);
    for (const [at, size] of sizes.entries()) {
      const stored = await store.read(partKey(`${round}/${size}`));
      expect(stored.equals(bodies[at]!)).toBe(true);
    }
    expect(await store.head(partKey(`${round}/aborted`))).toBeNull();
  }
});
