import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lockPathOf } from '../../../../src/lake/store/file/lock.js';
import { type ObjectStore, openStore, toObjectKey } from '../../../../src/lake/store/index.js';
import { describeStoreContract } from '../../../support/store-contract.js';

const TYPE = { contentType: 'text/csv' };
let outer: string;
let root: string;
let store: ObjectStore;

beforeAll(async () => {
  outer = await mkdtemp(join(tmpdir(), 'worktrack-file-store-'));
  root = join(outer, 'a lake, 100%');
  store = openStore({ url: pathToFileURL(root).href });
});

afterAll(async () => {
  store.close();
  await rm(outer, { recursive: true, force: true });
});

describeStoreContract('The file store', () => store);

describe('The file store', () => {
  it('leaves no helper file behind, and nothing outside its folder', async () => {
    const names = await readdir(root, { recursive: true });
    expect(names.filter((name) => /_tmp-|_lock-/.test(name))).toEqual([]);
    expect(await readdir(outer)).toEqual(['a lake, 100%']);
  });

  it('keeps objects as plain files below the folder', async () => {
    await store.write(toObjectKey('projects/latest.json'), Buffer.from('{}'), TYPE);
    expect(await readFile(join(root, 'projects/latest.json'), 'utf8')).toBe('{}');
  });

  it('reports the new checksum after a file was changed behind its back', async () => {
    const key = toObjectKey('changed/part.csv');
    const { crc32 } = await store.write(key, Buffer.from('one'), TYPE);
    expect((await store.head(key))?.crc32).toBe(crc32);
    await writeFile(join(root, key), 'two');
    expect((await store.head(key))?.crc32).not.toBe(crc32);
  });

  it('does not take links for objects when listing', async () => {
    await mkdir(join(root, 'links'), { recursive: true });
    await symlink('/etc/hostname', join(root, 'links/out'));
    const entries = [];
    for await (const entry of store.list('links/')) entries.push(entry);
    expect(entries).toEqual([]);
  });

  it('refuses keys that look like its helper files', async () => {
    const key = toObjectKey('a/_tmp-0123456789abcdef');
    await expect(store.write(key, Buffer.from('x'), TYPE)).rejects.toMatchObject({ kind: 'invalid-key' });
  });

  it('takes over the lock of a process that is dead', async () => {
    const key = toObjectKey('dead/latest.json');
    await plantLock(key, { pid: await deadPid(), host: hostname(), since: Date.now(), token: 'theirs' });
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, n) => store.swap(key, Buffer.from(`{"n":${n}}`), 'absent')),
    );
    expect(results.filter((result) => result.outcome === 'written')).toHaveLength(1);
    expect(await readdir(join(root, 'dead'))).toEqual(['latest.json']);
  });

  it('takes over a lock that is far too old, and waits for a living one', async () => {
    const old = toObjectKey('old/latest.json');
    await plantLock(old, { pid: process.pid, host: hostname(), since: Date.now() - 120_000, token: 'old' });
    expect((await store.swap(old, Buffer.from('{}'), 'absent')).outcome).toBe('written');

    const held = toObjectKey('held/latest.json');
    const lock = await plantLock(held, {
      pid: process.pid,
      host: hostname(),
      since: Date.now(),
      token: 'held',
    });
    let settled = false;
    const swapping = store.swap(held, Buffer.from('{}'), 'absent').finally(() => {
      settled = true;
    });
    // Other work that takes longer than several tries for the lock.
    for (let n = 0; n < 20; n++) await store.write(toObjectKey(`held/other-${n}`), Buffer.from('x'), TYPE);
    expect(settled).toBe(false);
    await rm(lock);
    expect((await swapping).outcome).toBe('written');
  });

  it('says that a folder may not be written', async () => {
    const blocked = join(outer, 'blocked');
    await writeFile(blocked, 'a file');
    const other = openStore({ url: pathToFileURL(join(blocked, 'lake')).href });
    const writing = other.write(toObjectKey('a'), Buffer.from('x'), TYPE);
    await expect(writing).rejects.toMatchObject({
      name: 'StoreError',
      operation: 'write',
      key: 'a',
      retryable: false,
    });
    await rm(blocked);
  });
});

async function plantLock(key: string, holder: object): Promise<string> {
  const path = lockPathOf(join(root, key));
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, JSON.stringify(holder));
  return path;
}

/** The id of a process that has just ended. */
async function deadPid(): Promise<number> {
  const { spawnSync } = await import('node:child_process');
  return spawnSync(process.execPath, ['-e', '']).pid;
}
