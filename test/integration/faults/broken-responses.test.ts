import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type ObjectStore, openStore, toObjectKey } from '../../../src/lake/store/index.js';
import { ensureBucket } from '../../../src/servers/index.js';
import { type FaultyS3, startFaultyS3 } from '../../support/faulty-s3.js';
import { startTestS3, type TestS3 } from '../../support/versitygw.js';

const ROW = 'id,hours\n';
const INPUT = Buffer.from(ROW.repeat(5000));
const key = toObjectKey('inbox/hours.csv');

let s3: TestS3;
let proxy: FaultyS3;
let store: ObjectStore;

beforeAll(async () => {
  s3 = await startTestS3();
  process.env.AWS_ACCESS_KEY_ID = s3.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = s3.secretAccessKey;
  const access = { ...s3, region: 'us-east-1' };
  await ensureBucket(access, 'inputs');
  proxy = await startFaultyS3(access);
  store = openStore({
    url: 's3://inputs/work',
    region: 'us-east-1',
    endpoint: proxy.url,
    forcePathStyle: true,
  });
  await store.write(key, INPUT);
});
afterEach(() => proxy.clear());
afterAll(async () => {
  store?.close();
  await proxy?.close();
  await s3?.stop();
});

/** At a row boundary, so that the truncated file looks complete. */
const cut = (ending: 'reset' | 'end', remaining?: number) =>
  proxy.add({
    ...{ method: 'GET', path: /hours\.csv/, ...(remaining === undefined ? {} : { remaining }) },
    fault: { kind: 'cut-chunked', afterBytes: 1000 * ROW.length, ending },
  });

describe.each(['reset', 'end'] as const)('a chunked response that breaks off with a %s', (ending) => {
  it('is resumed where it was interrupted', async () => {
    const { hits } = cut(ending, 2);
    expect(hits).toBe(0);
    expect((await store.read(key)).equals(INPUT)).toBe(true);
  });

  it('is resumed for a range request', async () => {
    cut(ending, 1);
    const range = { offset: ROW.length, length: 2000 * ROW.length };
    expect((await store.read(key, { range })).equals(INPUT.subarray(ROW.length, 2001 * ROW.length))).toBe(
      true,
    );
  });

  it('fails if it repeatedly delivers no further byte, and never returns a shorter object', async () => {
    cut(ending, 1);
    proxy.add({
      ...{ method: 'GET', path: /hours\.csv/ },
      fault: { kind: 'cut-chunked', afterBytes: 0, ending },
    });
    const error = await store.read(key).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'StoreError', kind: 'unreachable', key });
  });
});
