import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freshFolder } from '../../../src/cli/demo/folder.js';
import { UsageError } from '../../../src/cli/usage-error.js';

describe('the folder of a demo', () => {
  let base: string;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'worktrack-demo-'));
  });
  afterEach(() => rm(base, { recursive: true, force: true }));

  it('is made, and what an earlier demo left in it is removed', async () => {
    const folder = await freshFolder(join(base, 'a', 'b'));
    await writeFile(join(folder, 'old.csv'), 'x');
    await freshFolder(folder);
    expect(await readdir(folder)).toEqual(['.worktrack-demo']);
  });

  it('is never one that somebody else put files into', async () => {
    await writeFile(join(base, 'mine.txt'), 'x');
    await expect(freshFolder(base)).rejects.toThrow(UsageError);
    expect(await readdir(base)).toEqual(['mine.txt']);
    await expect(freshFolder(join(base, 'mine.txt'))).rejects.toThrow(UsageError);
  });
});
