import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withLock } from '../../../src/servers/install/lock.js';
import { startSuspendedProcess } from '../../support/suspended-process.js';

let root: string;
let lock: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'worktrack-lock-'));
  lock = join(root, '.lock');
});
afterEach(() => rm(root, { recursive: true, force: true }));

const signal = () => AbortSignal.timeout(15_000);

async function heldBy(owner: { pid: number; host: string }) {
  await mkdir(lock);
  await writeFile(join(lock, 'owner.json'), JSON.stringify({ token: 'theirs', ...owner }));
}

describe('the lock of an installation', () => {
  it('lets one caller work at a time, however many wait for it', async () => {
    let inside = 0;
    let most = 0;
    const work = async () => {
      inside += 1;
      most = Math.max(most, inside);
      await readdir(root);
      inside -= 1;
    };
    // Several rounds, because a race between a release and an acquisition shows only in some of them.
    for (let round = 0; round < 10; round++) {
      await Promise.all(
        [1, 2, 3, 4, 5, 6, 7, 8].map(() => withLock(lock, { signal: signal(), retryEveryMs: 0 }, work)),
      );
    }
    expect(most).toBe(1);
    expect(await readdir(root)).toEqual([]);
  });

  it('is released when the work fails', async () => {
    const failure = withLock(lock, { signal: signal() }, () => Promise.reject(new Error('no disk')));
    await expect(failure).rejects.toThrow('no disk');
    expect(await readdir(root)).toEqual([]);
  });

  it('is taken over from a process that has ended', async () => {
    const { pid } = spawnSync('true');
    await heldBy({ pid, host: hostname() });
    expect(await withLock(lock, { signal: signal() }, async () => 'done')).toBe('done');
    expect(await readdir(root)).toEqual([]);
  });

  it('is taken over when another machine has not touched it for a minute', async () => {
    await heldBy({ pid: 1, host: 'elsewhere' });
    const longAgo = new Date(Date.now() - 61_000);
    await utimes(join(lock, 'owner.json'), longAgo, longAgo);
    expect(await withLock(lock, { signal: signal() }, async () => 'done')).toBe('done');
  });

  it('stays with a suspended process that has not touched it for an hour, and is taken over when that process dies', async () => {
    const holder = await startSuspendedProcess();
    await heldBy(holder.identity);
    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(join(lock, 'owner.json'), longAgo, longAgo);
    const waitedFor: number[] = [];
    const onWait = (pid: number) => {
      waitedFor.push(pid);
      holder.kill();
    };
    const options = { signal: signal(), retryEveryMs: 5, onWait };
    expect(await withLock(lock, options, async () => 'done')).toBe('done');
    expect(waitedFor).toEqual([holder.identity.pid]);
  });

  it.each(['', '{"token"'])('is taken over when its owner is %j and old', async (text) => {
    await mkdir(lock);
    await writeFile(join(lock, 'owner.json'), text);
    const longAgo = new Date(Date.now() - 61_000);
    await utimes(join(lock, 'owner.json'), longAgo, longAgo);
    expect(await withLock(lock, { signal: signal() }, async () => 'done')).toBe('done');
    expect(await readdir(root)).toEqual([]);
  });

  it('is not released by a process that no longer holds it', async () => {
    await withLock(lock, { signal: signal() }, async () => {
      await rm(lock, { recursive: true });
      await heldBy({ pid: process.pid, host: hostname() });
    });
    expect(await readdir(root)).toEqual(['.lock']);
  });

  it('waits for a running process, reports its id, and gives up when aborted', async () => {
    await heldBy({ pid: process.pid, host: hostname() });
    const abort = new AbortController();
    const waited: number[] = [];
    const onWait = (pid: number) => {
      waited.push(pid);
      abort.abort();
    };
    const attempt = withLock(lock, { signal: abort.signal, onWait }, async () => 'done');
    await expect(attempt).rejects.toMatchObject({ name: 'AbortError' });
    expect(waited).toEqual([process.pid]);
  });
});
