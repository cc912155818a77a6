import { expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import { quarantineKey } from '../../../src/lake/documents/lake-layout.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import { RunInMemory } from '../../../src/run/memory-staging.js';
import { firstStage } from '../../../src/run/read/read-stage.js';
import { STAGE } from '../../../src/run/staged-documents.js';
import { temporaryLake } from '../lake/data-plane.js';
import { RUN } from './run.js';

const lake = temporaryLake();
const POSITION = firstStage(RUN);

/** The lake, with something that happens before each write. */
function storeWith(before: (key: ObjectKey) => Promise<void> | void): ObjectStore {
  return new Proxy(lake.store, {
    get(target, name) {
      if (name === 'write')
        return async (key: ObjectKey, body: Buffer) => {
          await before(key);
          return target.write(key, body);
        };
      const value = Reflect.get(target, name, target) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

it('repeats a spill whose first write after the run file failed', async () => {
  let failures = 1;
  const store = storeWith(() => {
    if (failures-- > 0) throw new Error('the store is down');
  });
  const memory = await RunInMemory.begin(store, RUN, '20261121T020000Z-00000001' as RunId);
  const staging = memory.staging;
  await staging.write(STAGE, 'stage-1.json', POSITION);
  await expect(staging.save()).rejects.toThrow('the store is down');
  expect(await staging.save()).toBe('saved');
  expect(await lake.store.head(staging.key('stage-1.json'))).not.toBeNull();
  memory.close();
});

it('drops what it holds if another attempt has begun its journal', async () => {
  const request = '20261121T020000Z-00000002' as RunId;
  expect(await (await RunInMemory.begin(lake.store, RUN, request)).save()).toBe('saved');
  const later = { ...RUN, readSince: 1 };
  expect(await (await RunInMemory.begin(lake.store, later, request)).save()).toBe('dropped');
});

it('saves a record that is set aside while the last document of a spill is written', async () => {
  const key = quarantineKey('tasks', RUN.runId, '0-0-1');
  const store = storeWith(async (at) => {
    if (at.endsWith('stage-1.json')) await memory.store.write(key, Buffer.from('keyless'));
  });
  const memory: RunInMemory = await RunInMemory.begin(store, RUN, '20261121T020000Z-00000003' as RunId);
  const staging = memory.staging;
  await staging.write(STAGE, 'stage-1.json', POSITION);
  expect(await staging.save()).toBe('saved');
  await staging.write(STAGE, 'stage-2.json', POSITION);
  memory.close();
  expect(await lake.store.head(key)).not.toBeNull();
});
