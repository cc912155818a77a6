import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LogFile } from '../../../activities/write-back/open-chunk.js';
import type { ObjectKey } from '../../../src/core/brands.js';
import { type ObjectStore, openStore, StoreUnclearError } from '../../../src/lake/store/index.js';
import type { ChunkLog } from '../../../src/write-back/plan-file.js';
import { decodeSealed } from '../../../src/write-back/sealed.js';

import { clocksAt } from './planned-rows.js';

const KEY = '_write-back/b/_batch/plans/p/log/000000-x.open.json' as ObjectKey;
const log = (accepted: number): ChunkLog => ({
  run: 'r',
  at: clocksAt(1),
  accepted,
  closed: false,
  rows: [],
});

describe('the log of an attempt', () => {
  let folder: string;
  let store: ObjectStore;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-log-'));
    store = openStore({ url: `file://${folder}` } as Parameters<typeof openStore>[0]);
  });
  afterEach(async () => {
    store.close();
    await rm(folder, { recursive: true, force: true });
  });
  const stored = async () => decodeSealed<ChunkLog>(KEY, await store.read(KEY)).accepted;

  it('never replaces the log of another attempt, whatever its name is', async () => {
    await new LogFile(store, KEY).write(log(1));
    await expect(new LogFile(store, KEY).write(log(2))).rejects.toThrow('another writer');
    expect(await stored()).toBe(1);
  });

  it('is not replaced by a delayed request of its own', async () => {
    const late: (() => Promise<unknown>)[] = [];
    const delaying: ObjectStore = Object.assign(Object.create(store), {
      swap: (...args: Parameters<ObjectStore['swap']>) => {
        // The request stays somewhere on the way, and its answer is lost.
        late.push(() => store.swap(...args));
        const isLost = late.length % 2 === 1;
        if (!isLost) return store.swap(...args);
        throw new StoreUnclearError({ operation: 'swap', key: KEY, bucket: folder, problem: 'lost' });
      },
      readIfExists: (key: ObjectKey) => store.readIfExists(key),
    });
    const file = new LogFile(delaying, KEY);
    for (let n = 1; n <= 3; n++) await file.write(log(n));
    expect(await stored()).toBe(3);
    for (const deliver of late) await deliver();
    expect(await stored()).toBe(3);
    await file.write(log(4));
    expect(await stored()).toBe(4);
  });

  it('counts a write whose answer was lost', async () => {
    let lost = 0;
    const losing: ObjectStore = Object.assign(Object.create(store), {
      swap: async (...args: Parameters<ObjectStore['swap']>) => {
        await store.swap(...args);
        lost++;
        throw new StoreUnclearError({ operation: 'swap', key: KEY, bucket: folder, problem: 'lost' });
      },
      readIfExists: (key: ObjectKey) => store.readIfExists(key),
    });
    const file = new LogFile(losing, KEY);
    for (let n = 1; n <= 3; n++) await file.write(log(n));
    expect([await stored(), lost]).toEqual([3, 3]);
  });
});
