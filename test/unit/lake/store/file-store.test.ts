import { spawnSync } from 'node:child_process';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ownIdentity } from '../../../../src/core/process-identity.js';
import { etagOf, lockPathOf } from '../../../../src/lake/store/file/write.js';
import { collected, type ObjectStore, openStore, toObjectKey } from '../../../../src/lake/store/index.js';
import { describeStoreContract } from '../../../support/store-contract.js';
import { startSuspendedProcess } from '../../../support/suspended-process.js';

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
    await store.swap(toObjectKey('tidy/latest.json'), Buffer.from('{}'), 'absent');
    await store.openWriter(toObjectKey('tidy/part.csv')).finish();
    const names = await readdir(root, { recursive: true });
    expect(names.filter((name) => /_tmp-|_lock-/.test(name))).toEqual([]);
    expect(await readdir(outer)).toEqual(['a lake, 100%']);
  });

  it('keeps objects as plain files below the folder', async () => {
    await store.write(toObjectKey('projects/latest.json'), Buffer.from('{}'));
    expect(await readFile(join(root, 'projects/latest.json'), 'utf8')).toBe('{}');
  });

  it('reports the new checksum after another program changed a file', async () => {
    const key = toObjectKey('changed/part.csv');
    const { crc32 } = await store.write(key, Buffer.from('one'));
    expect((await store.head(key))?.crc32).toBe(crc32);
    await writeFile(join(root, key), 'two');
    expect((await store.head(key))?.crc32).not.toBe(crc32);
  });

  it('refuses to list or remove files behind a symbolic link, and names the link', async () => {
    const elsewhere = join(outer, 'elsewhere');
    await mkdir(join(elsewhere, 'snapshots/dt=2026-11-21'), { recursive: true });
    await writeFile(join(elsewhere, 'snapshots/dt=2026-11-21/part.csv'), 'a record');
    await symlink(elsewhere, join(root, 'linked'));
    const listed = async (prefix: string): Promise<string[]> => {
      const keys: string[] = [];
      for await (const { key } of store.list(prefix)) keys.push(key);
      return keys;
    };
    const refused = { kind: 'invalid-key', key: 'linked', message: expect.stringContaining('symbolic link') };
    await expect(listed('')).rejects.toMatchObject(refused);
    await expect(listed('linked/')).rejects.toMatchObject(refused);
    await expect(listed('linked/snapshots/dt=2026-11-21/part')).rejects.toMatchObject(refused);
    await expect(store.listFolders('linked/snapshots/')).rejects.toMatchObject(refused);
    const key = toObjectKey('linked/snapshots/dt=2026-11-21/part.csv');
    await expect(store.remove([key])).rejects.toMatchObject(refused);
    expect(await readFile(join(elsewhere, 'snapshots/dt=2026-11-21/part.csv'), 'utf8')).toBe('a record');
    await store.write(toObjectKey('beside-the-link/latest.json'), Buffer.from('{}'));
    expect(await listed('beside-the-link/')).toEqual(['beside-the-link/latest.json']);
    await rm(join(root, 'linked'));
    await rm(elsewhere, { recursive: true });
  });

  describe.each(['a file', 'a folder', 'a folder above'])(
    'refuses a symbolic link in place of %s',
    (what) => {
      const name = what.replaceAll(' ', '-');
      const key = toObjectKey(`${name}/deep/part.csv`);
      const place = { 'a file': 'deep/part.csv', 'a folder': 'deep', 'a folder above': '' }[what]!;
      const secret = join('elsewhere', name);

      /** Puts a link in the place of the object's file, or of a folder above it. */
      async function link(): Promise<void> {
        const target = join(outer, secret);
        await mkdir(join(target, 'deep'), { recursive: true });
        await writeFile(join(target, 'deep/part.csv'), 'a secret');
        const at = join(root, name, place);
        await rm(at, { recursive: true, force: true });
        await mkdir(join(at, '..'), { recursive: true });
        await symlink(join(target, place), at.replace(/\/$/, ''));
      }

      it.each<[string, () => Promise<unknown>]>([
        ['read', () => store.read(key)],
        ['readIfExists', () => store.readIfExists(key)],
        ['head', () => store.head(key)],
        ['copy from', () => store.copy(key, toObjectKey('copies/part.csv'))],
        ['copy to', () => store.copy(toObjectKey('originals/part.csv'), key)],
        ['write', () => store.write(key, Buffer.from('ours'))],
        ['swap', () => store.swap(key, Buffer.from('ours'), 'absent')],
        [
          'swap of a version',
          () => store.swap(key, Buffer.from('ours'), { etag: etagOf(Buffer.from('a secret')) }),
        ],
        ['remove', () => store.remove([key])],
        ['list', () => collected(store.list(`${name}/`))],
      ])('by %s', async (_, work) => {
        await store.write(toObjectKey('originals/part.csv'), Buffer.from('original'));
        await link();
        await expect(work()).rejects.toMatchObject({
          kind: 'invalid-key',
          message: expect.stringContaining('symbolic link'),
        });
        expect(await readdir(join(outer, secret))).toEqual(['deep']);
        expect(await readdir(join(outer, secret, 'deep'))).toEqual(['part.csv']);
        expect(await readFile(join(outer, secret, 'deep/part.csv'), 'utf8')).toBe('a secret');
        expect(await store.head(toObjectKey('copies/part.csv'))).toBeNull();
        await rm(join(root, name), { recursive: true, force: true });
      });
    },
  );

  it('may itself be behind a symbolic link', async () => {
    await store.write(toObjectKey('projects/latest.json'), Buffer.from('{}'));
    await symlink(root, join(outer, 'a link to the lake'));
    const other = openStore({ url: pathToFileURL(join(outer, 'a link to the lake')).href });
    const keys: string[] = [];
    for await (const { key } of other.list('projects/')) keys.push(key);
    expect(keys).toEqual(['projects/latest.json']);
    other.close();
    await rm(join(outer, 'a link to the lake'));
  });

  it('refuses keys that look like its helper files', async () => {
    const key = toObjectKey('a/_tmp-0123456789abcdef');
    await expect(store.write(key, Buffer.from('x'))).rejects.toMatchObject({ kind: 'invalid-key' });
  });

  it('takes over the lock of a process that is dead', async () => {
    const key = toObjectKey('dead/latest.json');
    await plantLock(key, { pid: deadPid(), host: hostname(), token: 'theirs' });
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, n) => store.swap(key, Buffer.from(`{"n":${n}}`), 'absent')),
    );
    expect(results.filter((result) => result.outcome === 'written')).toHaveLength(1);
    expect(await readdir(join(root, 'dead'))).toEqual(['latest.json']);
  });

  it('takes over a lock that is two minutes old, and waits for a recent one', async () => {
    const old = toObjectKey('old/latest.json');
    const oldLock = await plantLock(old, { pid: process.pid, host: hostname(), token: 'old' });
    const longAgo = new Date(Date.now() - 120_000);
    await utimes(oldLock, longAgo, longAgo);
    expect((await store.swap(old, Buffer.from('{}'), 'absent')).outcome).toBe('written');

    const held = toObjectKey('held/latest.json');
    const lock = await plantLock(held, {
      pid: process.pid,
      host: hostname(),
      token: 'held',
    });
    let settled = false;
    const swapping = store.swap(held, Buffer.from('{}'), 'absent').finally(() => {
      settled = true;
    });
    // Other work that takes longer than several tries for the lock.
    for (let n = 0; n < 20; n++) await store.write(toObjectKey(`held/other-${n}`), Buffer.from('x'));
    expect(settled).toBe(false);
    await rm(lock);
    expect((await swapping).outcome).toBe('written');
  });

  it.each(['', '{"pid":1', 'null'])('takes over an old lock whose holder is %j', async (text) => {
    const key = toObjectKey('unreadable/latest.json');
    const path = lockPathOf(join(root, key));
    await mkdir(join(path, '..'), { recursive: true });
    await writeFile(path, text);
    const longAgo = new Date(Date.now() - 61_000);
    await utimes(path, longAgo, longAgo);
    const found = await store.readIfExists(key);
    const swapped = await store.swap(
      key,
      Buffer.from('{}'),
      found === null ? 'absent' : { etag: found.etag },
    );
    expect(swapped.outcome).toBe('written');
    expect(await readdir(join(root, 'unreadable'))).toEqual(['latest.json']);
  });

  it('does not take the lock of a suspended process, however old, and takes it when the process is dead', async () => {
    const key = toObjectKey('suspended/latest.json');
    const sleeper = await startSuspendedProcess();
    const lock = await plantLock(key, { ...sleeper.identity, token: 'theirs' });
    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(lock, longAgo, longAgo);
    let settled = false;
    const swapping = store.swap(key, Buffer.from('{}'), 'absent').finally(() => {
      settled = true;
    });
    for (let n = 0; n < 20; n++) await store.write(toObjectKey(`suspended/other-${n}`), Buffer.from('x'));
    expect(settled).toBe(false);
    sleeper.kill();
    expect((await swapping).outcome).toBe('written');
  });

  it('takes the lock of a process whose id another process has now', async () => {
    const key = toObjectKey('reused/latest.json');
    const own = ownIdentity();
    const started = `${own.started!.split(' ').slice(0, -1).join(' ')} 1`;
    await plantLock(key, { ...own, started, token: 'theirs' });
    expect((await store.swap(key, Buffer.from('{}'), 'absent')).outcome).toBe('written');
  });

  it('reports a folder that is not writable', async () => {
    const blocked = join(outer, 'blocked');
    await writeFile(blocked, 'a file');
    const other = openStore({ url: pathToFileURL(join(blocked, 'lake')).href });
    const writing = other.write(toObjectKey('a'), Buffer.from('x'));
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
function deadPid(): number {
  return spawnSync('true').pid;
}

describe.skipIf(process.platform === 'win32')('the folder of a lake', () => {
  const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

  it.each([
    [undefined, 0o700],
    [0o750, 0o750],
    [0o777, 0o777],
  ])('gets the mode %s when a write creates it, whatever the umask is', async (mode, expected) => {
    const parent = await mkdtemp(join(tmpdir(), 'worktrack-mode-'));
    const root = join(parent, 'new', 'lake');
    const store = openStore({ url: pathToFileURL(root).href, ...(mode === undefined ? {} : { mode }) });
    await Promise.all([
      store.write(toObjectKey('a/b'), Buffer.from('x')),
      store.write(toObjectKey('c'), Buffer.from('x')),
    ]);
    expect(await modeOf(root)).toBe(expected);
    store.close();
    await rm(parent, { recursive: true });
  });

  it('keeps its mode if it exists', async () => {
    const root = await mkdtemp(join(tmpdir(), 'worktrack-mode-'));
    await chmod(root, 0o755);
    const store = openStore({ url: pathToFileURL(root).href });
    await store.write(toObjectKey('a/b'), Buffer.from('x'));
    expect(await modeOf(root)).toBe(0o755);
    store.close();
    await rm(root, { recursive: true });
  });
});
