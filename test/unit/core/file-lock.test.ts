import * as fs from 'node:fs/promises';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

vi.mock('node:fs/promises', { spy: true });
// Another file of this process may have loaded it without the spies.
vi.resetModules();
const { withFileLock } = await import('../../../src/core/file-lock.js');

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-file-lock-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

let drafts = 0;
const locked = <T>(work: (stillHeld: () => boolean) => Promise<T>) =>
  withFileLock(
    join(folder, 'a', 'lock'),
    {
      draft: () => join(folder, 'a', `draft-${++drafts}`),
      giveUp: { afterMs: -1, error: () => new Error('busy') },
    },
    work,
  );

describe('a file lock', () => {
  it.each(['hard links', 'no hard links'])('excludes others on a file system with %s', async (links) => {
    if (links === 'no hard links') {
      const refused = Object.assign(new Error('operation not permitted'), { code: 'EPERM' });
      vi.mocked(fs.link).mockRejectedValue(refused);
    }
    try {
      await locked(async (stillHeld) => {
        expect(stillHeld()).toBe(true);
        expect(await readdir(join(folder, 'a'))).toEqual(['lock']);
        expect(JSON.parse(await readFile(join(folder, 'a', 'lock'), 'utf8'))).toMatchObject({
          pid: process.pid,
        });
        await expect(locked(async () => 'never')).rejects.toThrow('busy');
      });
      expect(await readdir(join(folder, 'a'))).toEqual([]);
      expect(fs.link).toHaveBeenCalled();
    } finally {
      vi.mocked(fs.link).mockRestore();
    }
  });

  it('is created again if its folder is removed meanwhile', async () => {
    vi.mocked(fs.writeFile).mockImplementationOnce(async () => {
      await rm(join(folder, 'a'), { recursive: true });
      throw Object.assign(new Error('no such folder'), { code: 'ENOENT' });
    });
    vi.mocked(fs.writeFile).mockClear();
    expect(await locked(async (stillHeld) => stillHeld())).toBe(true);
    expect(fs.writeFile).toHaveBeenCalledTimes(2);
  });

  it('is no longer held when another one has taken it', async () => {
    await locked(async (stillHeld) => {
      await rm(join(folder, 'a', 'lock'));
      await locked(async (othersHeld) => {
        expect([stillHeld(), othersHeld()]).toEqual([false, true]);
      });
    });
  });
});
