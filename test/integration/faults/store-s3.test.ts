import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { LakeSettings } from '../../../src/core/settings.js';
import {
  type ObjectStore,
  openStore,
  StoreUnclearError,
  toObjectKey,
} from '../../../src/lake/store/index.js';
import { S3Connection } from '../../../src/lake/store/s3/connection.js';
import { copyObject } from '../../../src/lake/store/s3/copy.js';
import { PART_BYTES } from '../../../src/lake/store/s3/multipart.js';
import { startFaultyS3 } from '../../support/faulty-s3.js';
import { drawn } from '../../support/seeds.js';
import { shortenBackOffs } from '../../support/short-waits.js';
import { describeStoreContract } from '../../support/store-contract.js';
import { startTestS3, type TestS3 } from '../../support/versitygw.js';

shortenBackOffs();

const BUCKET = 'company-lake';
const MIB = 1024 * 1024;

let s3: TestS3;
let admin: S3Client;
let store: ObjectStore;
const open: ObjectStore[] = [];
const servers: Server[] = [];

const settings = (changes: Partial<LakeSettings> = {}): LakeSettings => ({
  url: `s3://${BUCKET}/lakes/work`,
  region: 'us-east-1',
  endpoint: s3.endpoint,
  forcePathStyle: true,
  ...changes,
});

function opened(changes: Partial<LakeSettings> = {}): ObjectStore {
  const other = openStore(settings(changes));
  open.push(other);
  return other;
}

beforeAll(async () => {
  s3 = await startTestS3();
  useCredentials(s3.accessKeyId, s3.secretAccessKey);
  admin = new S3Client({ endpoint: s3.endpoint, region: 'us-east-1', forcePathStyle: true });
  await admin.send(new CreateBucketCommand({ Bucket: BUCKET }));
  store = openStore(settings());
});

afterEach(() => {
  useCredentials(s3.accessKeyId, s3.secretAccessKey);
  for (const other of open.splice(0)) other.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

afterAll(async () => {
  store?.close();
  admin?.destroy();
  await s3?.stop();
});

describeStoreContract('The S3 store', () => store);

describe('The S3 store', () => {
  it('reads and writes only below its prefix in the bucket', async () => {
    await admin.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'lakes/work-2/theirs', Body: 'x' }));
    await admin.send(new PutObjectCommand({ Bucket: BUCKET, Key: 'other/theirs', Body: 'x' }));
    for await (const entry of store.list('')) expect(entry.key).not.toContain('theirs');
    const whole = opened({ url: `s3://${BUCKET}` });
    expect(await whole.listFolders('')).toEqual(expect.arrayContaining(['lakes', 'other']));
    expect(await whole.head(toObjectKey('other/theirs'))).toMatchObject({ bytes: 1 });
  });

  it('uploads parts while the body grows, and holds at most two of them in memory', async () => {
    const key = toObjectKey('bounded/part.csv.gz');
    const writer = store.openWriter(key);
    const chunk = randomBytes(MIB);
    let mostPending = 0;
    for (let n = 1; n <= 40; n++) {
      await writer.write(chunk);
      const pending = n * MIB - (await storedBytes(key));
      mostPending = Math.max(mostPending, pending);
    }
    const written = await writer.finish();
    expect(written.bytes).toBe(40 * MIB);
    expect(mostPending).toBeLessThanOrEqual(2 * PART_BYTES);
    expect((await store.head(key))?.etag).toMatch(/-8"$/);
  });

  it('sends a body of at most one part as one PutObject, so that its ETag is not a multipart ETag', async () => {
    for (const bytes of [10, PART_BYTES]) {
      const writer = store.openWriter(toObjectKey(`small/${bytes}`));
      await writer.write(Buffer.alloc(bytes, 'a'));
      const written = await writer.finish();
      const info = await store.head(written.key);
      expect(info?.etag).not.toContain('-');
      expect(info?.crc32).toBe(written.crc32);
    }
  });

  it('reports no checksum for an object that has only a composite one', async () => {
    const target = { Bucket: BUCKET, Key: 'lakes/work/composite' };
    const { UploadId } = await admin.send(
      new CreateMultipartUploadCommand({ ...target, ChecksumAlgorithm: 'CRC32', ChecksumType: 'COMPOSITE' }),
    );
    const { ETag, ChecksumCRC32 } = await admin.send(
      new UploadPartCommand({ ...target, UploadId, PartNumber: 1, Body: 'body', ChecksumAlgorithm: 'CRC32' }),
    );
    const parts = { Parts: [{ PartNumber: 1, ETag, ChecksumCRC32 }] };
    await admin.send(new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: parts }));
    expect(await store.head(toObjectKey('composite'))).toMatchObject({ bytes: 4, crc32: null });
    expect((await store.read(toObjectKey('composite'))).toString()).toBe('body');
  });

  it('copies an object that is too large for one request, with the right checksum even if versitygw reports a wrong one', async () => {
    const writer = store.openWriter(toObjectKey('large/source.csv.gz'));
    for (let n = 0; n < 3; n++) await writer.write(randomBytes(5 * MIB));
    const source = await writer.finish();
    const warnings: string[] = [];
    const connection = new S3Connection(
      settings(),
      { bucket: BUCKET, prefix: 'lakes/work' },
      { warn: (message) => warnings.push(message) },
    );
    const to = toObjectKey('large/copy.csv.gz');
    for (const bytes of [undefined, source.bytes]) {
      await copyObject(connection, source.key, to, { bytes, maxCopyBytes: 6 * MIB, partBytes: 5 * MIB });
      expect(await store.head(to)).toMatchObject({ bytes: source.bytes, crc32: source.crc32 });
      await store.remove([to]);
    }
    connection.close();
    expect(warnings).toHaveLength(2);
    expect(await openUploads()).toBe(0);
  });

  it('removes more objects than one DeleteObjects request takes', async () => {
    const keys = Array.from({ length: 1203 }, (_, n) => toObjectKey(`many/${n}`));
    // A request takes 1,000. The others are missing, which makes no difference to a removal.
    const there = [...keys.filter((_, n) => n % 50 === 0), keys[999]!, keys[1202]!];
    await Promise.all(there.map((key) => store.write(key, Buffer.from('x'))));
    expect(await keysBelow('many/')).toHaveLength(there.length);
    await store.remove(keys);
    expect(await keysBelow('many/')).toEqual([]);
  });

  it('names the problem with the credentials, also for HEAD, without a secret', async () => {
    useCredentials('nobody', 'not-the-secret');
    const stranger = opened();
    const key = toObjectKey('a');
    const failures = await Promise.all([
      failureOf(stranger.head(key)),
      failureOf(stranger.read(key)),
      failureOf(stranger.write(key, Buffer.from('x'))),
      failureOf(stranger.swap(key, Buffer.from('x'), 'absent')),
      failureOf(stranger.listFolders('')),
    ]);
    useCredentials(s3.accessKeyId, 'not-the-secret');
    failures.push(await failureOf(opened().head(key)));
    for (const failure of failures) {
      expect(failure).toMatchObject({
        name: 'StoreError',
        kind: 'bad-credentials',
        bucket: `s3://${BUCKET}`,
      });
      expect(String(failure)).not.toContain('not-the-secret');
    }
  });

  it('distinguishes a missing bucket from a missing object', async () => {
    const lost = opened({ url: 's3://no-such-bucket/x' });
    const key = toObjectKey('a');
    const missing = { kind: 'missing-bucket', retryable: false };
    await expect(lost.head(key)).rejects.toMatchObject(missing);
    await expect(lost.read(key)).rejects.toMatchObject(missing);
    await expect(lost.readIfExists(key)).rejects.toMatchObject(missing);
    await expect(lost.swap(key, Buffer.from('x'), { etag: '"1"' })).rejects.toMatchObject(missing);
    await expect(lost.openWriter(key).finish()).rejects.toMatchObject(missing);
    await expect(lost.listFolders('')).rejects.toMatchObject(missing);
  });

  it('fails within ten seconds if nothing listens at the endpoint', async () => {
    const started = Date.now();
    const nowhere = opened({ endpoint: 'http://127.0.0.1:1' });
    const failure = await failureOf(nowhere.head(toObjectKey('a')));
    expect(failure).toMatchObject({ kind: 'unreachable', retryable: true });
    expect(String(failure)).toContain('http://127.0.0.1:1');
    // No request was sent, so the outcome is certain.
    expect(await failureOf(nowhere.swap(toObjectKey('a'), Buffer.from('x'), 'absent'))).toMatchObject({
      kind: 'unreachable',
    });
    expect(Date.now() - started).toBeLessThan(10_000);
  });

  it('resumes an interrupted body at the byte it has reached', async () => {
    const key = toObjectKey('broken/part.csv.gz');
    const body = randomBytes(3 * MIB);
    await store.write(key, body);
    const ranges: (string | undefined)[] = [];
    const endpoint = await proxy((incoming, outgoing) => {
      ranges.push(incoming.headers.range);
      forward(incoming, outgoing, { cutAfter: ranges.length <= 3 ? MIB - 7 : Number.POSITIVE_INFINITY });
    });
    const read = await opened({ endpoint }).read(key);
    expect(read.equals(body)).toBe(true);
    expect(ranges.length).toBeGreaterThan(1);
    expect(ranges[1]).toMatch(/^bytes=\d+-$/);
  });

  it('detects a body that was damaged in transit', async () => {
    const key = toObjectKey('damaged');
    await store.write(key, Buffer.from('the true content'));
    let flipped = false;
    const endpoint = await proxy((incoming, outgoing) => {
      const flip = incoming.method === 'GET' && !flipped;
      flipped ||= flip;
      forward(incoming, outgoing, flip ? { flip: true } : {});
    });
    await expect(opened({ endpoint }).read(key)).rejects.toMatchObject({ kind: 'checksum', retryable: true });
  });

  it('reports a body that is damaged in the same way twice as permanent damage in the store', async () => {
    const key = toObjectKey('damaged-at-rest');
    await store.write(key, Buffer.from('the true content'));
    const endpoint = await proxy((incoming, outgoing) => forward(incoming, outgoing, { flip: true }));
    const error = await opened({ endpoint })
      .read(key)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'damaged', retryable: false, key });
  });

  it('repeats requests that the store rejects temporarily', async () => {
    let requests = 0;
    const endpoint = await proxy((incoming, outgoing) => {
      requests += 1;
      if (requests > 2) return forward(incoming, outgoing, {});
      incoming.resume();
      outgoing.writeHead(503).end('<Error><Code>SlowDown</Code><Message>Reduce your rate</Message></Error>');
    });
    await opened({ endpoint }).write(toObjectKey('slow'), Buffer.from('x'));
    expect(requests).toBe(3);
  });

  it.each([
    ['is cut off after the write', 0],
    ['is a 500', 500],
    ['is a 503', 503],
  ])('calls a conditional write unclear when its answer %s, and sends it once', async (_, status) => {
    let requests = 0;
    const endpoint = await proxy((incoming, outgoing) => {
      requests += 1;
      forward(incoming, outgoing, { replace: status });
    });
    const key = toObjectKey(`unclear-${status}/latest.json`);
    const swapping = opened({ endpoint }).swap(key, Buffer.from('{}'), 'absent');
    await expect(swapping).rejects.toThrow(StoreUnclearError);
    await expect(swapping).rejects.toMatchObject({ kind: 'unclear', retryable: true });
    expect(requests).toBe(1);
    // The store has carried it out, which is why the caller must read the object again.
    expect((await store.readIfExists(key))?.body.toString()).toBe('{}');
  });

  const RACE = { kind: 'status', status: 409, code: 'ExistingObjectIsDirectory' } as const;
  const raced: readonly [what: string, method: string, write: (to: ObjectStore) => Promise<unknown>][] = [
    ['a write', 'PUT', (to) => to.write(toObjectKey('raced/write'), Buffer.from('x'))],
    ['a conditional write', 'PUT', (to) => to.swap(toObjectKey('raced/swap'), Buffer.from('x'), 'absent')],
    ['a copy', 'PUT', (to) => to.copy(toObjectKey('raced/from'), toObjectKey('raced/copy'))],
  ];
  it.each(raced)('repeats %s that lost a race with the removal of its folder', async (_, method, write) => {
    await store.write(toObjectKey('raced/from'), Buffer.from('x'));
    const faulty = await startFaultyS3({ ...s3, region: 'us-east-1' });
    try {
      const race = faulty.add({ method, path: /raced/, remaining: 3, fault: RACE });
      await write(opened({ endpoint: faulty.url }));
      expect(race.hits).toBe(3);
      // A folder that is really in the way stays there.
      const clash = faulty.add({ method, path: /raced/, fault: RACE });
      const error = await failureOf(write(opened({ endpoint: faulty.url })));
      expect(error).toMatchObject({ kind: 'invalid-key', retryable: false });
      expect(clash.hits).toBe(5);
    } finally {
      await faulty.close();
    }
  });

  it('removes the upload of a writer when a part fails permanently', async () => {
    const endpoint = await proxy((incoming, outgoing) => {
      if (!incoming.url?.includes('partNumber=2')) return forward(incoming, outgoing, {});
      incoming.resume();
      outgoing.writeHead(403).end('<Error><Code>AccessDenied</Code><Message>No</Message></Error>');
    });
    const writer = opened({ endpoint }).openWriter(toObjectKey('failing/part.csv.gz'));
    const writing = (async () => {
      for (let n = 0; n < 40; n++) await writer.write(Buffer.alloc(MIB));
      await writer.finish();
    })();
    await expect(writing).rejects.toMatchObject({ kind: 'access-denied', key: 'failing/part.csv.gz' });
    await expect(writer.finish()).rejects.toMatchObject({ kind: 'access-denied' });
    expect(await openUploads()).toBe(0);
  });
});

describe('The search for the checksums that a store accepts', () => {
  const status = (code: number, name: string) => ({ kind: 'status', status: code, code: name }) as const;
  const PROBE = /_probe-[^?]*\?.*uploadId=/;
  const passing = [
    ['an upload that is gone', { fault: status(404, 'NoSuchUpload'), remaining: 1 }],
    ['a folder in the way', { fault: status(409, 'ExistingObjectIsDirectory'), remaining: 5 }],
    ['a missing object', { fault: status(404, 'NoSuchKey'), remaining: 1 }],
    ['credentials that are not yet known', { fault: status(403, 'InvalidAccessKeyId'), remaining: 1 }],
    ['an outage', { fault: status(500, 'InternalError'), remaining: 6 }],
    ['connections that are reset', { fault: { kind: 'reset', afterBytes: 0 }, remaining: 6 }],
  ] as const;
  it.each(drawn(passing, 2))('is repeated by the next attempt after %s', async (_, rule) => {
    const faulty = await startFaultyS3({ ...s3, region: 'us-east-1' });
    try {
      const refused = { path: /[?&]uploadId=/, body: /<ChecksumCRC32>/, fault: status(400, 'InvalidPart') };
      faulty.add({ method: 'POST', ...refused });
      const during = faulty.add({ method: 'POST', path: PROBE, ...rule });
      const uploads = opened({ endpoint: faulty.url });
      const write = async (): Promise<unknown> => {
        const writer = uploads.openWriter(toObjectKey('searched/part.csv.gz'));
        for (let n = 0; n < 9; n++) await writer.write(Buffer.alloc(MIB, n));
        return writer.finish();
      };
      expect(await failureOf(write())).toMatchObject({
        retryable: true,
        message: expect.stringMatching(/the search/),
      });
      expect(during.hits).toBe(rule.remaining);
      expect(await failureOf(write())).toMatchObject({
        retryable: true,
        message: expect.stringMatching(/The next attempt sends/),
      });
      expect(await write()).toMatchObject({ bytes: 9 * MIB });
      expect(await openUploads()).toBe(0);
    } finally {
      await faulty.close();
    }
  });
});

function useCredentials(accessKeyId: string, secretAccessKey: string): void {
  process.env.AWS_ACCESS_KEY_ID = accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = secretAccessKey;
}

async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.fail('did not fail'),
    (error: unknown) => error,
  );
}

async function keysBelow(prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys;
}

async function openUploads(): Promise<number> {
  const { Uploads } = await admin.send(new ListMultipartUploadsCommand({ Bucket: BUCKET }));
  return Uploads?.length ?? 0;
}

/** The stored parts of an unfinished upload. */
async function storedBytes(key: string): Promise<number> {
  const Key = `lakes/work/${key}`;
  const { Uploads } = await admin.send(new ListMultipartUploadsCommand({ Bucket: BUCKET, Prefix: Key }));
  const UploadId = Uploads?.[0]?.UploadId;
  if (UploadId === undefined) return 0;
  const { Parts } = await admin.send(new ListPartsCommand({ Bucket: BUCKET, Key, UploadId }));
  return (Parts ?? []).reduce((sum, part) => sum + (part.Size ?? 0), 0);
}

async function proxy(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/**
 * Forwards a request to versitygw with its signed host, and damages the response: truncates it after some bytes, flips
 * its first byte, or replaces it by a status (0: by a reset connection).
 */
function forward(
  incoming: Parameters<RequestListener>[0],
  outgoing: Parameters<RequestListener>[1],
  spoil: { cutAfter?: number; flip?: boolean; replace?: number },
): void {
  const { hostname, port } = new URL(s3.endpoint);
  const { method, url: path, headers } = incoming;
  // A connection of an earlier request may be closed when it is used again.
  const upstream = request({ hostname, port, method, path, headers, agent: false }, (answer) => {
    if (spoil.replace !== undefined) {
      answer.resume();
      answer.on('end', () => {
        if (spoil.replace === 0) outgoing.destroy();
        else outgoing.writeHead(spoil.replace as number).end();
      });
      return;
    }
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
    let sent = 0;
    answer.on('data', (chunk: Buffer) => {
      if (spoil.flip && sent === 0) chunk[0] = (chunk[0] as number) ^ 1;
      const room = (spoil.cutAfter ?? Number.POSITIVE_INFINITY) - sent;
      sent += chunk.length;
      if (chunk.length <= room) outgoing.write(chunk);
      else outgoing.write(chunk.subarray(0, Math.max(0, room)), () => outgoing.destroy());
    });
    answer.on('end', () => outgoing.end());
  });
  upstream.on('error', () => outgoing.destroy());
  incoming.pipe(upstream);
}
