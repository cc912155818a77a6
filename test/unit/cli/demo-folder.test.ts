import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDemoFolder } from '../../../src/cli/demo/demo-command.js';
import { UsageError } from '../../../src/cli/shared/choose-exit-code.js';

describe('the folder of a demo', () => {
  let base: string;
  beforeEach(async () => {
    base = await mkdtemp(join(tmpdir(), 'worktrack-demo-'));
  });
  afterEach(() => rm(base, { recursive: true, force: true }));

  it('is created, and the files of an earlier demo are removed', async () => {
    const folder = await createDemoFolder(join(base, 'a', 'b'));
    await writeFile(join(folder, 'old.csv'), 'x');
    await createDemoFolder(folder);
    expect(await readdir(folder)).toEqual(['.worktrack-demo']);
  });

  it('is never a folder that contains other files', async () => {
    await writeFile(join(base, 'mine.txt'), 'x');
    await expect(createDemoFolder(base)).rejects.toThrow(UsageError);
    expect(await readdir(base)).toEqual(['mine.txt']);
    await expect(createDemoFolder(join(base, 'mine.txt'))).rejects.toThrow(UsageError);
  });
});
