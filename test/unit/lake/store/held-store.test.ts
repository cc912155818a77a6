import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../../src/core/brands.js';
import { crc32, crc32ToHex } from '../../../../src/lake/store/crc32.js';
import { fileStore } from '../../../../src/lake/store/file/store.js';
import { type HeldStore, holdObjects, type ObjectStore } from '../../../../src/lake/store/index.js';

const FOLDER = '_staging/tasks/run/';
const STAGED = `${FOLDER}chunk.csv` as ObjectKey;
const PART = 'tasks/snapshots/dt=2026-11-22/run=run/part-00000-1a2b3c4d.csv' as ObjectKey;

describe('a store whose staged objects are in memory', () => {
  let folder: string;
  let real: ObjectStore;
  let store: HeldStore;
  let held: number;

  beforeEach(async () => {
    held = 0;
    folder = await mkdtemp(join(tmpdir(), 'worktrack-held-'));
    real = fileStore(folder);
    store = holdObjects(real, {
      isHeld: (key) => key.startsWith(FOLDER),
      onHeld: (bytes) => {
        held += bytes;
      },
    });
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function keys(): Promise<string[]> {
    const found: string[] = [];
    for await (const { key } of real.list('')) found.push(key);
    return found;
  }

  it.each([undefined, 3])(
    'keeps them until they are wanted in the lake, with a known size of %s',
    async (bytes) => {
      const writer = store.openWriter(STAGED, { bytes });
      const reused = Buffer.from('tw');
      await writer.write(reused);
      reused.fill(0);
      await writer.write(Buffer.from('o'));
      expect(await writer.finish()).toMatchObject({ bytes: 3, crc32: crc32ToHex(crc32(Buffer.from('two'))) });
      expect((await store.read(STAGED)).toString()).toBe('two');
      expect((await store.read(STAGED, { range: { offset: 1, length: 5 } })).toString()).toBe('wo');
      expect(await keys()).toEqual([]);
      expect(held).toBe(3);
      await store.writeHeld((key) => key !== STAGED);
      expect(await keys()).toEqual([]);
      await store.writeHeld(() => true);
      expect((await real.read(STAGED)).toString()).toBe('two');
    },
  );

  it('writes everything else to the lake', async () => {
    await store.write(PART, Buffer.from('rows'));
    expect((await real.read(PART)).toString()).toBe('rows');
    expect(await store.head(PART)).toMatchObject({ bytes: 4 });
    expect(held).toBe(0);
  });

  it('reads a copy of an object instead of the object, and copies it by writing it', async () => {
    await real.write(PART, Buffer.from('rows'));
    store.hold(PART, Buffer.from('held'));
    expect(held).toBe(4);
    expect((await store.read(PART)).toString()).toBe('held');
    const chunks: Buffer[] = [];
    for await (const chunk of store.stream(PART)) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe('held');
    const copy = PART.replace('run=run', 'run=next') as ObjectKey;
    await store.copy(PART, copy);
    expect((await real.read(copy)).toString()).toBe('held');
    // A copy is no staged object.
    await store.writeHeld(() => true);
    expect((await real.read(PART)).toString()).toBe('rows');
  });
});
