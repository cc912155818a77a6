import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../../src/core/brands.js';
import { FileStore } from '../../../../src/lake/store/file/store.js';
import { AttemptStore, HandOver, type ObjectStore, realStore } from '../../../../src/lake/store/index.js';

const STAGED = '_staging/tasks/run/run.json' as ObjectKey;
const PART = 'tasks/snapshots/dt=2026-11-22/run=run/part-00000-1a2b3c4d.csv' as ObjectKey;
const POINTER = 'tasks/latest.json' as ObjectKey;
const JSON_TYPE = { contentType: 'application/json' };

describe('the store of an attempt', () => {
  let folder: string;
  let real: ObjectStore;
  let store: AttemptStore;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-attempt-'));
    real = new FileStore(folder, { logger: { warn() {} } });
    store = new AttemptStore(real, {
      staging: '_staging/tasks/run/',
      folders: ['tasks/snapshots/dt=2026-11-22/run=run/', 'tasks/changes/dt=2026-11-22/run=run/'],
      pointer: POINTER,
      maxBytes: 100,
    });
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function keys(of: ObjectStore, prefix = ''): Promise<string[]> {
    const found: string[] = [];
    for await (const { key } of of.list(prefix)) found.push(key);
    return found;
  }

  it('keeps the staging folder in memory', async () => {
    await store.write(STAGED, Buffer.from('one'), JSON_TYPE);
    const writer = store.openWriter('_staging/tasks/run/chunk.csv' as ObjectKey, JSON_TYPE);
    const reused = Buffer.from('two');
    await writer.write(reused);
    reused.fill(0);
    expect(await writer.finish()).toMatchObject({ bytes: 3 });
    expect((await store.read(STAGED)).toString()).toBe('one');
    expect((await store.read('_staging/tasks/run/chunk.csv' as ObjectKey)).toString()).toBe('two');
    expect(await store.read(STAGED, { range: { offset: 1, length: 5 } })).toEqual(Buffer.from('ne'));
    expect(await keys(store, '_staging/tasks/run/')).toEqual(['_staging/tasks/run/chunk.csv', STAGED]);
    expect(await store.head(STAGED)).toMatchObject({ bytes: 3 });
    expect(await keys(real)).toEqual([]);
  });

  it('checks the conditions of conditional writes to the staging folder', async () => {
    const first = await store.swap(STAGED, Buffer.from('a'), 'absent');
    expect(first.outcome).toBe('written');
    expect((await store.swap(STAGED, Buffer.from('b'), 'absent')).outcome).toBe('conflict');
    const found = await store.readIfExists(STAGED);
    expect((await store.swap(STAGED, Buffer.from('c'), found!)).outcome).toBe('written');
    expect((await store.swap(STAGED, Buffer.from('d'), found!)).outcome).toBe('conflict');
    expect((await store.read(STAGED)).toString()).toBe('c');
  });

  it('hands over instead of any other write, until the attempt begins to write', async () => {
    const key = '_quarantine/tasks/run/0.csv' as ObjectKey;
    await expect(store.write(key, Buffer.from('x'), JSON_TYPE)).rejects.toBeInstanceOf(HandOver);
    await expect(store.swap(POINTER, Buffer.from('x'), 'absent')).rejects.toBeInstanceOf(HandOver);
    await expect(store.copy(PART, key)).rejects.toBeInstanceOf(HandOver);
    await expect(store.remove([PART])).rejects.toBeInstanceOf(HandOver);
    await expect(store.abortUploads('')).rejects.toBeInstanceOf(HandOver);
    expect(() => store.openWriter(PART, JSON_TYPE)).toThrow();
    expect(await keys(real)).toEqual([]);
    store.beginWriting();
    await store.write(PART, Buffer.from('x'), JSON_TYPE);
    expect(await keys(real)).toEqual([PART]);
  });

  it('hands over when it needs too much memory', async () => {
    await store.write(STAGED, Buffer.alloc(60), JSON_TYPE);
    const more = store.write('_staging/tasks/run/more' as ObjectKey, Buffer.alloc(60), JSON_TYPE);
    await expect(more).rejects.toBeInstanceOf(HandOver);
  });

  it('reads the pointer once, and again after it has tried to swap it', async () => {
    await real.swap(POINTER, Buffer.from('1'), 'absent');
    const before = await store.readIfExists(POINTER);
    await real.swap(POINTER, Buffer.from('2'), before!);
    expect((await store.readIfExists(POINTER))?.body.toString()).toBe('1');
    store.beginWriting();
    expect((await store.swap(POINTER, Buffer.from('3'), before!)).outcome).toBe('conflict');
    expect((await store.readIfExists(POINTER))?.body.toString()).toBe('2');
  });

  it('copies an object that it holds with its bytes, and lists its own folders from memory', async () => {
    const from = 'tasks/snapshots/dt=2026-11-21/run=before/part-00000-1a2b3c4d.csv' as ObjectKey;
    store.hold(from, Buffer.from('rows'));
    store.beginWriting();
    await store.copy(from, PART);
    expect((await real.read(PART)).toString()).toBe('rows');
    expect(await keys(store, 'tasks/snapshots/dt=2026-11-22/run=run/')).toEqual([PART]);
    // A file store confirms no checksum in its answer, so the object is read.
    expect(await store.head(PART)).toMatchObject({ bytes: 4 });
  });

  it('names the store behind it', () => {
    expect(realStore(store)).toBe(real);
    expect(realStore(real)).toBe(real);
  });
});
