import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { crc32ToHex } from '../../src/lake/store/crc32.js';
import {
  type ListedObject,
  ObjectNotFoundError,
  type ObjectStore,
  probeConditionalWrites,
  raceConditionalWrites,
  StoreError,
  toObjectKey,
} from '../../src/lake/store/index.js';

const MIB = 1024 * 1024;

/** The behaviour that every object store must have. Each test uses its own folder. */
export function describeStoreContract(name: string, store: () => ObjectStore): void {
  let folders = 0;
  const place = (): ((path: string) => ReturnType<typeof toObjectKey>) => {
    const folder = `contract-${++folders}`;
    return (path) => toObjectKey(`${folder}/${path}`);
  };
  const facts = (body: Uint8Array) => ({
    bytes: body.length,
    crc32: crc32ToHex(crc32(body)),
    sha256: createHash('sha256').update(body).digest('hex'),
  });

  describe(`${name} keeps the contract of object stores`, () => {
    it('returns what was written, with length and digests', async () => {
      const key = place()('part-00000.csv.gz');
      const body = randomBytes(100_000);
      expect(await store().write(key, body)).toMatchObject({ key, ...facts(body) });
      expect((await store().read(key)).equals(body)).toBe(true);
      const info = await store().head(key);
      expect(info).toMatchObject({ key, bytes: body.length, crc32: facts(body).crc32 });
      expect(Math.abs((info?.modifiedAt ?? 0) - Date.now())).toBeLessThan(60_000);
    });

    it('joins the pieces of a body, and overwrites', async () => {
      const key = place()('latest.json');
      await store().write(key, Buffer.from('old and longer'));
      const written = await store().write(key, [Buffer.from('a'), Buffer.from(''), Buffer.from('bc')]);
      expect(written).toMatchObject({ key, ...facts(Buffer.from('abc')) });
      expect((await store().read(key)).toString()).toBe('abc');
    });

    it('stores empty objects', async () => {
      const at = place();
      const written = await store().write(at('one'), Buffer.alloc(0));
      expect(written).toMatchObject({ bytes: 0, crc32: '00000000' });
      expect(await store().openWriter(at('two')).finish()).toMatchObject({
        bytes: 0,
        crc32: '00000000',
      });
      expect((await store().read(at('two'))).length).toBe(0);
      expect(await store().head(at('two'))).toMatchObject({ bytes: 0, crc32: '00000000' });
    });

    it('reads ranges, which are cut off at the end and empty beyond it', async () => {
      const key = place()('range');
      await store().write(key, Buffer.from('0123456789'));
      const read = async (offset: number, length: number) =>
        (await store().read(key, { range: { offset, length } })).toString();
      expect(await read(0, 3)).toBe('012');
      expect(await read(4, 2)).toBe('45');
      expect(await read(8, 100)).toBe('89');
      expect(await read(10, 1)).toBe('');
      await expect(read(-1, 1)).rejects.toThrow(RangeError);
      await expect(read(0, 0)).rejects.toThrow(RangeError);
    });

    it('reports that an object does not exist', async () => {
      const key = place()('no/such/object');
      await expect(store().read(key)).rejects.toThrow(ObjectNotFoundError);
      await expect(store().copy(key, place()('copy'))).rejects.toThrow(ObjectNotFoundError);
      await expect(store().copy(key, place()('copy'), 5)).rejects.toThrow(ObjectNotFoundError);
      expect(await store().head(key)).toBeNull();
      expect(await store().readIfExists(key)).toBeNull();
    });

    it('streams an object in chunks, and releases the connection when the reader stops early', async () => {
      const key = place()('stream');
      const body = randomBytes(3 * MIB);
      await store().write(key, body);
      const chunks: Buffer[] = [];
      for await (const chunk of store().stream(key)) chunks.push(chunk);
      expect(chunks.length).toBeGreaterThan(1);
      expect(Buffer.concat(chunks).equals(body)).toBe(true);
      // More than the connections of the pool.
      for (let round = 0; round < 70; round++) {
        for await (const _ of store().stream(key)) break;
      }
      expect(await store().head(key)).not.toBeNull();
    });

    it('throws the reason of an aborted signal', async () => {
      const key = place()('aborted');
      await store().write(key, randomBytes(2 * MIB));
      const reason = new Error('the activity was cancelled');
      const aborted = AbortSignal.abort(reason);
      await expect(store().read(key, { signal: aborted })).rejects.toBe(reason);
      await expect(store().write(key, Buffer.from('x'), { signal: aborted })).rejects.toBe(reason);
      const midway = new AbortController();
      const reading = (async () => {
        for await (const _ of store().stream(key, { signal: midway.signal })) midway.abort(reason);
      })();
      await expect(reading).rejects.toBe(reason);
    });

    it('streams 40 MiB in small uneven chunks into one object', async () => {
      const at = place();
      const writer = store().openWriter(at('big'));
      const chunk = randomBytes(777_777);
      const hash = createHash('sha256');
      let crc = 0;
      while (writer.bytes < 40 * MIB) {
        await writer.write(chunk);
        hash.update(chunk);
        crc = crc32(chunk, crc);
      }
      const written = await writer.finish();
      expect(written).toEqual({
        key: at('big'),
        bytes: writer.bytes,
        crc32: crc32ToHex(crc),
        sha256: hash.digest('hex'),
      });
      expect(await store().head(at('big'))).toMatchObject({ bytes: written.bytes, crc32: written.crc32 });
      const read = createHash('sha256');
      for await (const piece of store().stream(at('big'))) read.update(piece);
      expect(read.digest('hex')).toBe(written.sha256);
      await expect(writer.write(chunk)).rejects.toThrow('has finished');
      await writer.abort();
      expect(await store().head(at('big'))).not.toBeNull();
    });

    it('leaves neither an object nor an open upload after an aborted writer', async () => {
      const at = place();
      const writer = store().openWriter(at('gone'));
      await writer.write(randomBytes(20 * MIB));
      await writer.abort();
      await writer.abort();
      expect(await store().head(at('gone'))).toBeNull();
      expect((await store().abortUploads(at('x').replace('x', ''))).aborted).toBe(0);
      await expect(writer.finish()).rejects.toThrow('was aborted');
    });

    it('stops a writer by its signal and cleans up', async () => {
      const at = place();
      const stop = new AbortController();
      const reason = new Error('the worker is shutting down');
      const writer = store().openWriter(at('gone'), { signal: stop.signal });
      await writer.write(randomBytes(20 * MIB));
      stop.abort(reason);
      await expect(writer.write(randomBytes(10))).rejects.toBe(reason);
      await expect(writer.finish()).rejects.toBe(reason);
      expect((await store().abortUploads(at('x').replace('x', ''))).aborted).toBe(0);
      expect(await store().head(at('gone'))).toBeNull();
    });

    it('aborts uploads that a killed process left, but not active ones', async () => {
      const at = place();
      const folder = at('x').replace('x', '');
      const writer = store().openWriter(at('deep/left'));
      await writer.write(randomBytes(20 * MIB));
      const asked: string[] = [];
      const isOver = (key: string) => asked.push(key) === 0;
      expect((await store().abortUploads(folder, isOver)).aborted).toBe(0);
      expect(asked.map((key) => key.slice(0, key.lastIndexOf('/') + 1))).toEqual([`${folder}deep/`]);
      expect((await store().abortUploads('contract-elsewhere/')).aborted).toBe(0);
      expect((await store().abortUploads(folder)).aborted).toBe(1);
      // The part that the writer was still sending may bring the upload back.
      while ((await store().abortUploads(folder)).aborted > 0)
        expect(await store().head(at('deep/left'))).toBeNull();
      await expect(writer.finish()).rejects.toThrow(StoreError);
    });

    it('swaps only the version that was expected', async () => {
      const key = place()('latest.json');
      expect(await store().swap(key, Buffer.from('{"n":0}'), { etag: '"0123"' })).toEqual({
        outcome: 'conflict',
      });
      const first = await store().swap(key, Buffer.from('{"n":1}'), 'absent');
      expect(first.outcome).toBe('written');
      expect(await store().swap(key, Buffer.from('{"n":2}'), 'absent')).toEqual({ outcome: 'conflict' });
      const seen = await store().readIfExists(key);
      expect(first).toEqual({ outcome: 'written', etag: seen?.etag });
      expect((await store().head(key))?.etag).toBe(seen?.etag);
      const second = await store().swap(key, Buffer.from('{"n":3}'), { etag: seen?.etag ?? '' });
      expect(second.outcome).toBe('written');
      expect(await store().swap(key, Buffer.from('{"n":4}'), { etag: seen?.etag ?? '' })).toEqual({
        outcome: 'conflict',
      });
      expect((await store().readIfExists(key))?.body.toString()).toBe('{"n":3}');
    });

    it('lets exactly one of ten racing swaps win, round after round', async () => {
      const key = place()('latest.json');
      let expected: { etag: string } | 'absent' = 'absent';
      for (let round = 0; round < 4; round++) {
        const bodies = Array.from({ length: 10 }, (_, racer) => `{"round":${round},"racer":${racer}}`);
        const results = await Promise.all(
          bodies.map((body) => store().swap(key, Buffer.from(body), expected)),
        );
        const winners = results.flatMap((result, racer) => (result.outcome === 'written' ? [racer] : []));
        expect(winners).toHaveLength(1);
        const seen = await store().readIfExists(key);
        expect(seen?.body.toString()).toBe(bodies[winners[0] as number]);
        expected = { etag: seen?.etag ?? '' };
      }
    });

    it('lists every object below a prefix in the byte order of the keys', async () => {
      const at = place();
      const folder = at('x').replace('x', '');
      const names = [
        'a-b',
        'a.c',
        'a/2',
        'a/10',
        'a0',
        'b/c/d',
        'ü',
        '\u{1f600}',
        '\uff5e',
        'dt=1 + 2%/x',
        'q\'"&<>',
      ];
      await Promise.all(names.map((name) => store().write(at(name), Buffer.from(name))));
      const sorted = names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      expect((await listed(folder)).map((entry) => entry.key.slice(folder.length))).toEqual(sorted);
      expect((await listed(`${folder}a`)).map((entry) => entry.key.slice(folder.length))).toEqual(
        sorted.filter((name) => name.startsWith('a')),
      );
      expect(await listed(`${folder}a/`)).toMatchObject([{ bytes: 4 }, { bytes: 3 }]);
      expect(await listed('contract-none/')).toEqual([]);
    });

    it('lists the folders directly below a prefix', async () => {
      const at = place();
      const folder = at('x').replace('x', '');
      for (const name of [
        'dt=2026-11-21/run=1/a',
        'dt=2026-11-21/run=2/a',
        'dt=2026-11-20/run=0/b/c',
        'file',
      ]) {
        await store().write(at(name), Buffer.from('x'));
      }
      expect(await store().listFolders(folder)).toEqual(['dt=2026-11-20', 'dt=2026-11-21']);
      expect(await store().listFolders(`${folder}dt=2026-11-21/`)).toEqual(['run=1', 'run=2']);
      expect(await store().listFolders('contract-none/')).toEqual([]);
      expect(await store().listFolders('')).toContain(folder.slice(0, -1));
      await store().remove([at('dt=2026-11-20/run=0/b/c')]);
      expect(await store().listFolders(folder)).toEqual(['dt=2026-11-21']);
      await expect(store().listFolders('contract')).rejects.toMatchObject({ kind: 'invalid-key' });
    });

    it('copies an object with its checksum, whatever its name', async () => {
      const at = place();
      const body = randomBytes(300_000);
      const written = await store().write(at('sp ace/pl+us/100%/é?#&'), body);
      await store().copy(written.key, at('copies/one'));
      await store().copy(written.key, at('copies/one'));
      await store().copy(written.key, at('copies/two'), body.length);
      for (const copy of [at('copies/one'), at('copies/two')]) {
        expect(await store().head(copy)).toMatchObject({ bytes: body.length, crc32: written.crc32 });
        expect((await store().read(copy)).equals(body)).toBe(true);
      }
    });

    it('removes objects, and accepts missing ones', async () => {
      const at = place();
      await store().write(at('a/b/c'), Buffer.from('x'));
      await store().write(at('a/d'), Buffer.from('x'));
      await store().remove([at('a/b/c'), at('a/none'), at('none/of/it')]);
      await store().remove([]);
      expect((await listed(at('x').replace('x', ''))).map((entry) => entry.key)).toEqual([at('a/d')]);
    });

    it('refuses keys that would leave the lake, in every operation', async () => {
      for (const hostile of HOSTILE_KEYS) {
        const key = hostile as ReturnType<typeof toObjectKey>;
        const good = place()('good');
        const refusal = { name: 'StoreError', kind: 'invalid-key', retryable: false };
        await expect(store().read(key)).rejects.toMatchObject(refusal);
        await expect(store().readIfExists(key)).rejects.toMatchObject(refusal);
        await expect(store().write(key, Buffer.from('x'))).rejects.toMatchObject(refusal);
        expect(() => store().openWriter(key)).toThrow(StoreError);
        await expect(store().swap(key, Buffer.from('x'), 'absent')).rejects.toMatchObject(refusal);
        await expect(store().head(key)).rejects.toMatchObject(refusal);
        await expect(store().copy(key, good)).rejects.toMatchObject(refusal);
        await expect(store().remove([good, key])).rejects.toMatchObject(refusal);
      }
      for (const hostile of ['../', '/', 'a/../', '..', 'a//', 'a/./b', 'a\\b', '\0']) {
        await expect(listed(hostile)).rejects.toMatchObject({ kind: 'invalid-key' });
      }
    });

    it('names the object if the store does not support its key', async () => {
      const at = place();
      await store().write(at('file'), Buffer.from('x'));
      const child = store().write(at('file/child'), Buffer.from('x'));
      await expect(child).rejects.toMatchObject({ kind: 'invalid-key', key: at('file/child') });
      await expect(store().swap(at('file/child'), Buffer.from('x'), 'absent')).rejects.toMatchObject({
        kind: 'invalid-key',
      });
    });

    it('finds conditional writes supported, and leaves no probe behind', async () => {
      expect(await probeConditionalWrites(store())).toEqual({ outcome: 'supported', said: null });
      expect(await raceConditionalWrites(store())).toEqual({ outcome: 'supported', said: null });
      await store().probeUploads();
      expect(await listed('_staging/_probe-')).toEqual([]);
    });
  });

  async function listed(prefix: string): Promise<ListedObject[]> {
    const entries: ListedObject[] = [];
    for await (const entry of store().list(prefix)) entries.push(entry);
    return entries;
  }
}

/** Texts that are not valid keys. */
export const HOSTILE_KEYS: readonly string[] = [
  '',
  '/',
  '/etc/passwd',
  '../outside',
  '..',
  '.',
  'a/../../b',
  'a/..',
  'a/./b',
  'a//b',
  'a/',
  '..\\outside',
  'a\\b',
  'a\0b',
  'a\nb',
  'a\u0085b',
  'a\u007fb',
  'lone \ud800 surrogate',
  'x'.repeat(256),
  'ü'.repeat(128),
  Array.from({ length: 6 }, () => 'y'.repeat(200)).join('/'),
];
