import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CopyObjectCommand, HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { LakeSettings } from '../../../../src/core/settings.js';
import { openStore, toObjectKey } from '../../../../src/lake/store/index.js';
import { S3Connection } from '../../../../src/lake/store/s3/connection.js';
import { accountParameters, createS3Clients } from '../../../../src/lake/store/s3/s3-client.js';
import { putObject } from '../../../../src/lake/store/s3/write.js';

/** What the SDK computes digests with. */
interface Checksum {
  update(bytes: Uint8Array): void;
}

const LAKE: LakeSettings = { url: 's3://lake/acme' };
const PART = 'acme/tasks/snapshots/dt=2026-11-21/run=1/part-00000.csv.gz';

describe('the parameters for an account', () => {
  const kms = { encryption: { kmsKey: 'alias/worktrack' } } as const;
  const encrypted = { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: 'alias/worktrack' };
  it.each([
    ['nothing by default', {}, 'PutObjectCommand', PART, {}],
    ['a key of KMS for PutObject', kms, 'PutObjectCommand', PART, encrypted],
    ['a key of KMS for CopyObject', kms, 'CopyObjectCommand', PART, encrypted],
    ['a key of KMS for CreateMultipartUpload', kms, 'CreateMultipartUploadCommand', PART, encrypted],
    ['no encryption for UploadPart, which AWS rejects', kms, 'UploadPartCommand', PART, {}],
    ['no encryption for GetObject', kms, 'GetObjectCommand', PART, {}],
    [
      'keys of S3',
      { encryption: 'sse-s3' },
      'PutObjectCommand',
      'acme/tasks/latest.json',
      { ServerSideEncryption: 'AES256' },
    ],
    [
      'the payer of every request',
      { requesterPays: true },
      'ListObjectsV2Command',
      undefined,
      { RequestPayer: 'requester' },
    ],
    [
      'the owner of both buckets of a copy',
      { expectedBucketOwner: '111122223333' },
      'UploadPartCopyCommand',
      PART,
      { ExpectedBucketOwner: '111122223333', ExpectedSourceBucketOwner: '111122223333' },
    ],
    [
      'tags, encoded',
      { tags: { team: 'data & more', 'cost-center': '7' } },
      'PutObjectCommand',
      PART,
      { Tagging: 'team=data%20%26%20more&cost-center=7' },
    ],
    [
      'the tags of a copy instead of those of its source',
      { tags: { team: 'data' } },
      'CopyObjectCommand',
      PART,
      { Tagging: 'team=data', TaggingDirective: 'REPLACE' },
    ],
    [
      'the storage class of a published part',
      { storageClass: 'STANDARD_IA' },
      'PutObjectCommand',
      PART,
      { StorageClass: 'STANDARD_IA' },
    ],
    [
      'no storage class for an object that is soon removed',
      { storageClass: 'STANDARD_IA' },
      'PutObjectCommand',
      'acme/_staging/tasks/1/chunk',
      {},
    ],
    [
      'no storage class for the pointer',
      { storageClass: 'STANDARD_IA' },
      'PutObjectCommand',
      'acme/tasks/latest.json',
      {},
    ],
  ] as [string, Partial<LakeSettings>, string, string | undefined, object][])(
    'are %s',
    (_, settings, command, key, expected) => {
      expect(accountParameters({ ...LAKE, ...settings }, command, key)).toEqual(expected);
    },
  );
});

/** A server that records the headers of each request, and answers like S3 or STS. */
async function startRecorder(
  answer: (url: string, body: string) => string = () => '',
  head: { readonly status?: number; readonly date?: string } = {},
) {
  const seen: { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('latin1');
    seen.push({ url: request.url ?? '', headers: request.headers, body });
    const { status = 200, date } = head;
    response.sendDate = false;
    const dated = date === undefined ? {} : { date };
    response.writeHead(status, { 'content-type': 'application/xml', etag: '"1"', ...dated });
    response.end(answer(request.url ?? '', body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    seen,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

describe('a client for an account', () => {
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    vi.unstubAllEnvs();
    for (const end of ends.splice(0)) await end();
  });

  it('sends the headers with each request that needs them', async () => {
    const store = await startRecorder(() => '<CopyObjectResult><ETag>"1"</ETag></CopyObjectResult>');
    ends.push(store.close);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AK');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'SK');
    const clients = createS3Clients({
      ...{ url: 's3://lake/acme', endpoint: store.url, region: 'eu-central-1', forcePathStyle: true },
      ...{ encryption: { kmsKey: 'alias/worktrack' }, requesterPays: true, tags: { team: 'data' } },
      expectedBucketOwner: '111122223333',
    });
    const target = { Bucket: 'lake', Key: PART };
    await clients.client.send(new PutObjectCommand({ ...target, Body: 'x' }));
    await clients.client.send(new CopyObjectCommand({ ...target, CopySource: `lake/${PART}` }));
    // A conditional write uses the other client.
    await clients.singleAttemptClient.send(new PutObjectCommand({ ...target, Body: 'x', IfNoneMatch: '*' }));
    await clients.client.send(new HeadObjectCommand(target));
    clients.close();
    expect(store.seen).toHaveLength(4);
    for (const { headers } of store.seen)
      expect(headers).toMatchObject({
        'x-amz-request-payer': 'requester',
        'x-amz-expected-bucket-owner': '111122223333',
      });
    for (const { headers } of store.seen.slice(0, 3))
      expect(headers).toMatchObject({
        'x-amz-server-side-encryption': 'aws:kms',
        'x-amz-server-side-encryption-aws-kms-key-id': 'alias/worktrack',
        'x-amz-tagging': 'team=data',
      });
    expect(store.seen[1]!.headers).toMatchObject({ 'x-amz-source-expected-bucket-owner': '111122223333' });
    expect(store.seen[3]!.headers).not.toHaveProperty('x-amz-server-side-encryption');
  });

  it('signs an object with the digest that it has of it, instead of hashing it again', async () => {
    const recorder = await startRecorder();
    ends.push(recorder.close);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AK');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'SK');
    const settings = { ...LAKE, endpoint: recorder.url, region: 'eu-central-1', forcePathStyle: true };
    const s3 = new S3Connection(settings, { bucket: 'lake', prefix: '' }, console);
    const { prototype } = s3.client.config.sha256 as unknown as { prototype: Checksum };
    const hashed = vi.spyOn(prototype, 'update');
    const bodies = ['x', 'y'].map((letter) => Buffer.alloc(10_000, letter));
    const written = await Promise.all(bodies.map((body) => putObject(s3, toObjectKey(PART), body, {})));
    s3.close();
    const digests = bodies.map((body) => createHash('sha256').update(body).digest('hex'));
    expect(written.map(({ sha256 }) => sha256)).toEqual(digests);
    expect(recorder.seen.map(({ headers }) => headers['x-amz-content-sha256']).sort()).toEqual(
      digests.sort(),
    );
    expect(hashed.mock.calls.map(([bytes]) => bytes.length)).not.toContain(bodies[0]!.length);
    expect(hashed).toHaveBeenCalled();
    hashed.mockRestore();
  });

  it.each([
    ['tasks/latest.json', 'application/json'],
    ['tasks/snapshots/dt=2026-11-21/run=1/part-00000.csv.gz', 'application/gzip'],
    ['tables/tasks/_delta_log/_last_checkpoint', 'application/json'],
    ['_write-back/ledger/000001.rows', 'application/octet-stream'],
  ])('sends the media type of %s however it writes it', async (name, type) => {
    const recorder = await startRecorder();
    ends.push(recorder.close);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AK');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'SK');
    const place = { endpoint: recorder.url, region: 'eu-central-1', forcePathStyle: true };
    const store = openStore({ ...LAKE, ...place });
    const key = toObjectKey(name);
    await store.write(key, Buffer.from('x'));
    await store.swap(key, Buffer.from('x'), 'absent');
    const writer = store.openWriter(key);
    await writer.write(Buffer.from('x'));
    await writer.finish();
    store.close();
    expect(recorder.seen.map(({ headers }) => headers['content-type'])).toEqual([type, type, type]);
  });

  it.each([
    ['a response', { date: 'Sat, 21 Nov 2026 02:00:00 GMT' }, Date.parse('2026-11-21T02:00:00Z')],
    ['a refusal', { date: 'Sat, 21 Nov 2026 02:00:00 GMT', status: 403 }, Date.parse('2026-11-21T02:00:00Z')],
    ['a response without Date', {}, null],
    ['a response with another Date', { date: 'yesterday' }, null],
  ])("knows the store's clock from %s", async (_, head, time) => {
    const recorder = await startRecorder(() => '', head);
    ends.push(recorder.close);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AK');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'SK');
    const place = { endpoint: recorder.url, region: 'eu-central-1', forcePathStyle: true };
    const store = openStore({ ...LAKE, ...place });
    expect(store.serverTime()).toBeNull();
    await store.write(toObjectKey('tasks/latest.json'), Buffer.from('x')).catch(() => {});
    const now = store.serverTime();
    store.close();
    if (time === null) expect(now).toBeNull();
    else expect(now! - time).toBeLessThan(60_000);
    if (time !== null) expect(now).toBeGreaterThanOrEqual(time);
  });

  it('assumes its role with the external id, and again before the credentials expire', async () => {
    let assumed = 0;
    const sts = await startRecorder(() => {
      assumed++;
      // Less than the five minutes before their end when the SDK renews credentials.
      const expiration = new Date(Date.now() + 60_000).toISOString();
      return `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>ROLE${assumed}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t${assumed}</SessionToken><Expiration>${expiration}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`;
    });
    const store = await startRecorder();
    ends.push(sts.close, store.close);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'BASE');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'SK');
    vi.stubEnv('AWS_ENDPOINT_URL_STS', sts.url);
    const clients = createS3Clients({
      ...{ url: 's3://lake/acme', endpoint: store.url, region: 'eu-central-1', forcePathStyle: true },
      role: { arn: 'arn:aws:iam::111122223333:role/worktrack', externalId: 'acme-7' },
    });
    const target = { Bucket: 'lake', Key: PART };
    await clients.client.send(new PutObjectCommand({ ...target, Body: 'x' }));
    await clients.singleAttemptClient.send(new PutObjectCommand({ ...target, Body: 'x' }));
    clients.close();
    const form = new URLSearchParams(sts.seen[0]!.body);
    expect(form.get('RoleArn')).toBe('arn:aws:iam::111122223333:role/worktrack');
    expect(form.get('ExternalId')).toBe('acme-7');
    const keys = store.seen.map(({ headers }) => /Credential=(\w+)\//.exec(headers.authorization ?? '')?.[1]);
    expect(keys[0]).toMatch(/^ROLE/);
    expect(keys[1]).toMatch(/^ROLE/);
    expect(assumed).toBeGreaterThan(1);
    expect(keys[1]).not.toBe(keys[0]);
  });
});
