import { once } from 'node:events';
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ApplicationFailure } from '@temporalio/activity';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import { parseStored } from '../../../src/core/stored-json.js';
import { noFacts } from '../../../src/core/value-facts.js';
import { encodeIndex, indexKey } from '../../../src/lake/documents/block-index.js';
import { pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { encodeManifest, type ManifestFields, readManifest } from '../../../src/lake/documents/manifest.js';
import { encodePointer, readPointerVersion } from '../../../src/lake/documents/pointer.js';
import { readPartIndex } from '../../../src/lake/part/read-index.js';
import { swapPointer } from '../../../src/lake/published/swap.js';
import type { SortKey } from '../../../src/lake/rows/row.js';
import {
  checkBlock,
  encodeWithin,
  MAX_BLOCK_BYTES,
  MAX_INDEX_BYTES,
  MAX_MANIFEST_BYTES,
  MAX_POINTER_BYTES,
  sizeLimitOf,
} from '../../../src/lake/size-limits.js';
import { crc32, crc32ToHex } from '../../../src/lake/store/crc32.js';
import { type ObjectStore, openStore } from '../../../src/lake/store/index.js';
import { DocumentTooLargeError } from '../../../src/lake/too-large-error.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { toFailure } from '../../../src/run/failures.js';
import { readIntactHead } from '../../../src/run/prepare/rollback.js';
import { Staging } from '../../../src/run/staging.js';
import { readTable } from '../../../src/table/log/read-table.js';
import { checkTable } from '../../../src/table/verify-table.js';
import { readRefusals } from '../../../src/write-back/results.js';
import { type PublishedRun, publishRun } from './published.js';

const RUN = '20261121T020000Z-1a2b3c4d' as RunId;
const FOLDER = `tasks/snapshots/dt=2026-11-21/run=${RUN}`;
const BATCH = '_write-back/november/_batch';

/** An object of each kind, and what its error calls it. */
const OBJECTS: readonly (readonly [key: string, what: string])[] = [
  ['tasks/latest.json', 'latest.json'],
  [`${FOLDER}/_datapackage.json`, 'a manifest'],
  [`tasks/changes/dt=2026-11-21/run=${RUN}/_datapackage.json`, 'a manifest'],
  [`${FOLDER}/_part-00000-1a2b3c4d.index.json`, 'a block index'],
  [`_staging/tasks/${RUN}/_chunk-00000.index.json`, 'a block index'],
  [`_staging/tasks/${RUN}/run.json`, 'a staged document'],
  ['tasks/table/_delta_log/00000000000000000007.json', 'a commit of a table'],
  ['tasks/table/_delta_log/00000000000000000010.checkpoint.parquet', 'a checkpoint of a table'],
  ['tasks/table/_delta_log/_last_checkpoint', 'this object'],
  [`${BATCH}/batch.json`, 'this object'],
  [`${BATCH}/summary.json`, 'this object'],
  [`${BATCH}/refusals.json`, 'this object'],
  [`${BATCH}/plans/000001-ab-1000/plan.json`, 'this object'],
  [`${BATCH}/plans/000001-ab-1000/rows/w/000000.ndjson`, 'a chunk of a batch'],
  [`${BATCH}/plans/000001-ab-1000/rows/w/hashes.bin`, 'a list of hashes'],
  [`${BATCH}/plans/000001-ab-1000/turns/w-7.json`, 'a turn of a batch'],
  [`${BATCH}/plans/000001-ab-1000/log/000000-w.open.json`, 'the log of a chunk'],
  ['_write-back/_ledger/time-entries/0000000001.claim', 'a list of hashes'],
  ['_write-back/_ledger/time-entries/0000000001.rows-0000000001', 'a list of hashes'],
  [`${FOLDER}/part-00000-1a2b3c4d.csv.gz`, 'a block of rows'],
];

let folder: string;
let store: ObjectStore;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-limits-'));
  store = openStore({ url: pathToFileURL(folder).href });
});
afterEach(async () => {
  store.close();
  await rm(folder, { recursive: true });
});

function pathOf(key: string): string {
  return join(folder, key);
}

/** Makes an object as large as its limit and `more` bytes. The file is sparse, so it takes no space. */
async function enlarge(key: string, more = 1): Promise<ObjectKey> {
  const path = pathOf(key);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, '');
  await truncate(path, sizeLimitOf(key as ObjectKey).maxBytes + more);
  return key as ObjectKey;
}

async function errorOf(reading: Promise<unknown>): Promise<DocumentTooLargeError> {
  const error = await reading.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DocumentTooLargeError);
  return error as DocumentTooLargeError;
}

describe('An object above the limit of its kind', () => {
  it.each(OBJECTS)('is not read: %s', async (name, what) => {
    const key = await enlarge(name);
    const { maxBytes } = sizeLimitOf(key);
    for (const read of ['read', 'readIfExists'] as const) {
      const error = await errorOf(store[read](key));
      expect(error).toMatchObject({ code: 'LAKE_TOO_LARGE', key, maxBytes, retryable: false });
      expect(error.message).toContain(`${key} is too large with ${(maxBytes + 1).toLocaleString('en-US')}`);
      expect(error.message).toContain(`${what} has at most ${maxBytes.toLocaleString('en-US')} bytes`);
    }
  });

  it('has no limit where it is streamed, or only a range of it is read', async () => {
    const key = await enlarge('tasks/latest.json');
    let bytes = 0;
    for await (const chunk of store.stream(key)) bytes += chunk.length;
    expect(bytes).toBe(MAX_POINTER_BYTES + 1);
    expect((await store.read(key, { range: { offset: MAX_POINTER_BYTES - 1, length: 9 } })).length).toBe(2);
    await errorOf(store.read(key, { range: { offset: 0, length: 2 ** 40 } }));
  });

  it('can be as large as its limit', async () => {
    const key = await enlarge('tasks/latest.json', 0);
    expect((await store.read(key)).length).toBe(MAX_POINTER_BYTES);
  });

  it.each<[string, string, () => Promise<unknown>]>([
    ['the pointer', 'tasks/latest.json', () => readPointerVersion(store, 'tasks')],
    [
      'a manifest',
      `${FOLDER}/_datapackage.json`,
      () => readManifest(store, `${FOLDER}/_datapackage.json` as ObjectKey),
    ],
    [
      'the journal of a run',
      `_staging/tasks/${RUN}/run.json`,
      () => new Staging(store, { resource: 'tasks', runId: RUN }, 1).journal(),
    ],
    [
      'a commit of a table',
      'tasks/table/_delta_log/00000000000000000000.json',
      () => readTable(store, 'tasks'),
    ],
    [
      'a document of a batch',
      `${BATCH}/refusals.json`,
      () => readRefusals(store, `${BATCH}/refusals.json` as ObjectKey),
    ],
  ])('ends the activity that reads it for good: %s', async (_, key, read) => {
    await enlarge(key);
    const failure = toFailure(await errorOf(read())) as ApplicationFailure;
    expect(failure).toBeInstanceOf(ApplicationFailure);
    expect(failure).toMatchObject({ type: 'Lake', nonRetryable: true });
    expect(failure.message).toContain(key);
  });

  it('is a problem of its table', async () => {
    const key = await enlarge('tasks/table/_delta_log/00000000000000000000.json');
    await publish();
    expect(await checkTable(store, 'tasks')).toMatchObject([
      { text: expect.stringContaining(`${key} is too large`) },
    ]);
  });

  it('can be replaced, whatever its size', async () => {
    const key = await enlarge('tasks/latest.json');
    const etag = (await store.head(key))!.etag;
    expect(await store.swap(key, Buffer.from('{}'), { etag })).toMatchObject({ outcome: 'written' });
  });
});

async function publish(): Promise<PublishedRun> {
  return publishRun(store, {
    ...{ resource: 'tasks', runId: RUN, date: '2026-11-21' },
    columns: [{ name: 'id', types: 16, values: noFacts() }],
    parts: [[['a'], ['b']], [['c']]],
  });
}

describe('A published object above its limit', () => {
  const large: readonly (readonly [string, (run: PublishedRun) => string])[] = [
    ['the pointer', () => pointerKey('tasks')],
    ['the manifest of the snapshot', ({ pointer }) => pointer.snapshot],
    ['the manifest of the change log', ({ pointer }) => pointer.changes!],
    ['a block index', ({ parts }) => indexKey(parts[0]!.key)],
  ];

  it.each(large)('is named by verify: %s', async (_, keyOf) => {
    const key = await enlarge(keyOf(await publish()));
    const { ok, damaged, problems } = await verifySnapshot(store, 'tasks');
    expect({ ok, damaged: damaged.includes(key) }).toEqual({ ok: false, damaged: true });
    expect(problems.join('\n')).toContain(`${key} is too large`);
  });

  it('is not left out by a rollback as damaged parts are', async () => {
    const run = await publish();
    const found = (await readPointerVersion(store, 'tasks'))!;
    const rollback = () => readIntactHead(store, found, { checkedHead: null });
    const key = run.pointer.snapshot;
    await writeFile(pathOf(key), 'damaged');
    expect((await rollback()).warnings).toMatchObject([{ kind: 'left-out', parts: null }]);
    await enlarge(key);
    expect((await errorOf(rollback())).key).toBe(key);
  });
});

describe('A block above its limit', () => {
  const oneBlock = (rawBytes: number) =>
    encodeIndex({
      columns: 1,
      blocks: [
        {
          ...{ first: 'a' as SortKey, last: 'b' as SortKey, rows: 2, offset: 20, bytes: 30 },
          ...{ rawBytes, rawCrc32: 1, crc32: 1, lineBreaks: 0 },
        },
      ],
    });

  it('is refused before it is decompressed, although the index has the checksum of its manifest', async () => {
    const { parts } = await publish();
    const body = oneBlock(1.5 * 1024 ** 3);
    const part = { ...parts[0]!, indexCrc32: crc32ToHex(crc32(body)) };
    await store.write(indexKey(part.key), body);
    const error = await errorOf(readPartIndex(store, part));
    expect(error).toMatchObject({ key: part.key, maxBytes: MAX_BLOCK_BYTES });
  });

  it('is named by verify', async () => {
    const { parts } = await publish();
    const { key } = parts[0]!;
    await store.write(indexKey(key), oneBlock(1.5 * 1024 ** 3));
    const { problems } = await verifySnapshot(store, 'tasks');
    expect(problems.join('\n')).toContain(`${key} is too large with 1,610,612,736 bytes: a block of rows`);
  });

  it('is not written', () => {
    const key = 'tasks/part.csv' as ObjectKey;
    expect(() => checkBlock('write', key, MAX_BLOCK_BYTES)).not.toThrow();
    expect(() => checkBlock('write', key, MAX_BLOCK_BYTES + 1)).toThrow(DocumentTooLargeError);
  });
});

describe('A document that would be above its limit', () => {
  it('is not written, and fails the run as a check', async () => {
    const { pointer } = await publish();
    const before = await store.read(pointerKey('tasks'));
    const { etag } = (await store.head(pointerKey('tasks')))!;
    const larger = { ...pointer, formerBaseUrls: ['x'.repeat(MAX_POINTER_BYTES)] };
    const error = await errorOf(swapPointer(store, larger, { etag }));
    expect(error.code).toBe('LAKE_WRITE_TOO_LARGE');
    expect(toFailure(error)).toMatchObject({ type: 'Check', nonRetryable: true });
    await errorOf(store.write(pointerKey('tasks'), encodePointer(larger)));
    expect(await store.read(pointerKey('tasks'))).toEqual(before);
  });

  it('is too large, too, if its text is longer than V8 can hold', async () => {
    const key = `${FOLDER}/_datapackage.json` as ObjectKey;
    const encoding = async () => encodeWithin(key, () => Buffer.from('x'.repeat(2 ** 30)));
    expect((await errorOf(encoding())).key).toBe(key);
  });
});

describe('The limits', () => {
  it('are at least 10 times what a lake with 20,000,000 rows and 5,000 columns needs', async () => {
    const { manifest, pointer } = await publish();
    const columns = Array.from({ length: 5000 }, (_, at) => ({
      ...{ name: `field_${String(at).padStart(4, '0')}`, types: 16, values: noFacts() },
    }));
    const [part] = manifest.parts;
    const sizeOf = (parts: number): number =>
      encodeManifest({ ...manifest, columns, parts: Array(parts).fill(part) } as ManifestFields).length;
    // 6 GB in parts of 64 MiB.
    const one = sizeOf(1);
    expect(10 * (one + 89 * (sizeOf(2) - one))).toBeLessThan(MAX_MANIFEST_BYTES);
    const block = { first: 'x'.repeat(100), last: 'x'.repeat(100), rows: 1e5, offset: 6e7, bytes: 6e4 };
    const blocks = Array(1024).fill({
      ...block,
      rawBytes: 65_536,
      rawCrc32: 4e9,
      crc32: 4e9,
      lineBreaks: 1e5,
    });
    expect(10 * encodeIndex({ columns: 5000, blocks }).length).toBeLessThan(MAX_INDEX_BYTES);
    expect(10 * encodePointer(pointer).length).toBeLessThan(MAX_POINTER_BYTES);
  });
});

describe('A stored document with deep JSON', () => {
  const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

  it.each<[string, string, boolean]>([
    ['1,000 levels', nested(1000), true],
    ['1,001 levels', nested(1001), false],
    ['1,000,000 levels', nested(1_000_000), false],
    ['many values beside each other', `[${Array(2000).fill('{"a":[]}').join(',')}]`, true],
    ['brackets in a text', JSON.stringify(`\\"${'['.repeat(2000)}`), true],
  ])('is read only up to its limit: %s', (_, json, isRead) => {
    if (isRead) expect(JSON.stringify(parseStored(json))).toBe(json);
    else expect(() => parseStored(json)).toThrow(new SyntaxError('it is nested more than 1000 levels deep'));
  });

  it('is a problem that verify lists', async () => {
    const { pointer } = await publish();
    await store.write(pointer.snapshot, Buffer.from(`{"worktrack":${nested(100_000)}}`));
    const { problems } = await verifySnapshot(store, 'tasks');
    expect(problems.join('\n')).toContain(
      `${pointer.snapshot} is not JSON: it is nested more than 1000 levels`,
    );
  });
});

describe('An S3 store', () => {
  const ends: (() => void)[] = [];
  afterEach(() => {
    for (const end of ends.splice(0)) end();
    vi.unstubAllEnvs();
  });

  async function s3(answer: (response: ServerResponse) => void): Promise<ObjectStore> {
    const server = createServer((_, response) => answer(response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AK');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'SK');
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const opened = openStore({ url: 's3://lake', endpoint, region: 'eu-central-1', forcePathStyle: true });
    ends.push(() => {
      opened.close();
      server.closeAllConnections();
      server.close();
    });
    return opened;
  }

  it('stops at the length in the response', async () => {
    const bucket = await s3((response) => {
      response.writeHead(200, { etag: '"1"', 'content-length': 900 * 1024 ** 2 });
      response.write('{');
    });
    const error = await errorOf(bucket.readIfExists(pointerKey('tasks')));
    expect(error.message).toContain('943,718,400 bytes');
  });

  it('stops at the limit where the response has no length', async () => {
    let sent = 0;
    const bucket = await s3((response) => {
      response.writeHead(200, { etag: '"1"' });
      const send = (): void => {
        while (!response.destroyed) {
          sent += 65_536;
          if (!response.write(Buffer.alloc(65_536))) return void response.once('drain', send);
        }
      };
      send();
    });
    await errorOf(bucket.read(pointerKey('tasks')));
    expect(sent).toBeLessThan(20 * MAX_POINTER_BYTES);
  });

  it('writes nothing above the limit', async () => {
    let requests = 0;
    const bucket = await s3((response) => {
      requests++;
      response.end();
    });
    const body = Buffer.alloc(MAX_POINTER_BYTES + 1);
    await errorOf(bucket.write(pointerKey('tasks'), body));
    await errorOf(bucket.swap(pointerKey('tasks'), body, 'absent'));
    expect(requests).toBe(0);
  });
});
