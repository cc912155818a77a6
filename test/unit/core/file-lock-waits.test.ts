import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withFileLock } from '../../../src/core/file-lock.js';
import type { ProcessIdentity } from '../../../src/core/process-identity.js';
import { startSuspendedProcess } from '../../support/suspended-process.js';

let root: string;
let lock: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'worktrack-lock-'));
  lock = join(root, '.lock');
});
afterEach(() => rm(root, { recursive: true, force: true }));

const signal = () => AbortSignal.timeout(15_000);

async function heldBy(holder: { pid: number; host: string }) {
  await writeFile(lock, JSON.stringify({ token: 'theirs', ...holder }));
}

describe('waiting for a file lock', () => {
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
        [1, 2, 3, 4, 5, 6, 7, 8].map(() => withFileLock(lock, { signal: signal(), retryEveryMs: 1 }, work)),
      );
    }
    expect(most).toBe(1);
    expect(await readdir(root)).toEqual([]);
  });

  it('is released when the work fails', async () => {
    const failure = withFileLock(lock, { signal: signal() }, () => Promise.reject(new Error('no disk')));
    await expect(failure).rejects.toThrow('no disk');
    expect(await readdir(root)).toEqual([]);
  });

  it('is taken over from a process that has ended', async () => {
    const { pid } = spawnSync('true');
    await heldBy({ pid, host: hostname() });
    expect(await withFileLock(lock, { signal: signal() }, async () => 'done')).toBe('done');
    expect(await readdir(root)).toEqual([]);
  });

  it('is taken over when another machine has not touched it for a minute', async () => {
    await heldBy({ pid: 1, host: 'elsewhere' });
    const longAgo = new Date(Date.now() - 61_000);
    await utimes(lock, longAgo, longAgo);
    expect(await withFileLock(lock, { signal: signal() }, async () => 'done')).toBe('done');
  });

  it('stays with a suspended process that has not touched it for an hour, and is taken over when that process dies', async () => {
    const holder = await startSuspendedProcess();
    await heldBy(holder.identity);
    const longAgo = new Date(Date.now() - 3_600_000);
    await utimes(lock, longAgo, longAgo);
    const waitedFor: number[] = [];
    const onWait = ({ pid }: ProcessIdentity) => {
      waitedFor.push(pid);
      holder.kill();
    };
    const options = { signal: signal(), retryEveryMs: 5, onWait };
    expect(await withFileLock(lock, options, async () => 'done')).toBe('done');
    expect(waitedFor).toEqual([holder.identity.pid]);
  });

  it.each(['', '{"token"'])('is taken over when its holder is %j and old', async (text) => {
    await writeFile(lock, text);
    const longAgo = new Date(Date.now() - 61_000);
    await utimes(lock, longAgo, longAgo);
    expect(await withFileLock(lock, { signal: signal() }, async () => 'done')).toBe('done');
    expect(await readdir(root)).toEqual([]);
  });

  it.each([60_001, 0])(
    'is taken over although the guard of an earlier take-over is %i ms old',
    async (age) => {
      const { pid } = spawnSync('true');
      await heldBy({ pid, host: hostname() });
      const guard = `${lock}.steal`;
      await mkdir(guard);
      const then = new Date(Date.now() - age);
      await utimes(guard, then, then);
      const taking = withFileLock(lock, { signal: signal() }, async () => 'done');
      // A new guard belongs to a caller that removes it within milliseconds.
      if (age === 0) await rm(guard, { recursive: true });
      expect(await taking).toBe('done');
      expect(await readdir(root)).toEqual([]);
    },
  );

  it('is not released by a process that no longer holds it', async () => {
    await withFileLock(lock, { signal: signal() }, async () => {
      await heldBy({ pid: process.pid, host: hostname() });
    });
    expect(await readdir(root)).toEqual(['.lock']);
  });

  it('waits for a running process, reports its id, and gives up when aborted', async () => {
    await heldBy({ pid: process.pid, host: hostname() });
    const abort = new AbortController();
    const waited: number[] = [];
    const onWait = ({ pid }: ProcessIdentity) => {
      waited.push(pid);
      abort.abort();
    };
    const attempt = withFileLock(lock, { signal: abort.signal, onWait }, async () => 'done');
    await expect(attempt).rejects.toMatchObject({ name: 'AbortError' });
    expect(waited).toEqual([process.pid]);
  });
});
