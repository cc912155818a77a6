import {
  chownSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CodeCache, codeCache } from '../../../../src/cli/bundle/code-cache.js';

const SOURCE = Buffer.from('exports.a = 1');
const CODE = Buffer.from('compiled');

let folder: string;
let cache: CodeCache;
beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'worktrack-code-')), 'cache');
  cache = codeCache(folder);
});
afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

function onlyEntry(): string {
  const names = readdirSync(folder);
  expect(names).toHaveLength(1);
  return join(folder, names[0]!);
}

describe('the code cache', () => {
  it('returns what was written for the same file and source', () => {
    expect(cache.read('/x/a.cjs', SOURCE)).toBeUndefined();
    cache.write('/x/a.cjs', SOURCE, () => CODE);
    expect(cache.read('/x/a.cjs', SOURCE)).toEqual(CODE);
    expect(cache.read('/x/b.cjs', SOURCE)).toBeUndefined();
  });

  it('returns nothing for another source of the same length', () => {
    cache.write('/x/a.cjs', SOURCE, () => CODE);
    expect(cache.read('/x/a.cjs', Buffer.from('exports.a = 2'))).toBeUndefined();
  });

  it('returns nothing for an entry that was damaged or cut', () => {
    cache.write('/x/a.cjs', SOURCE, () => CODE);
    const bytes = readFileSync(onlyEntry());
    for (const damaged of [
      bytes.subarray(0, -1),
      bytes.subarray(0, 2),
      Buffer.concat([bytes.subarray(0, -1), Buffer.of(0)]),
    ]) {
      writeFileSync(onlyEntry(), damaged);
      expect(cache.read('/x/a.cjs', SOURCE)).toBeUndefined();
    }
  });

  it.runIf(process.getuid?.() === 0)('returns nothing from a file of another user', () => {
    cache.write('/x/a.cjs', SOURCE, () => CODE);
    chownSync(onlyEntry(), 12_345, 12_345);
    expect(cache.read('/x/a.cjs', SOURCE)).toBeUndefined();
  });

  it('does without a folder that cannot be made, and makes no code for it', () => {
    const file = join(folder, '..', 'file');
    writeFileSync(file, '');
    const without = codeCache(join(file, 'cache'));
    without.write('/x/a.cjs', SOURCE, () => {
      throw new Error('made');
    });
    expect(without.read('/x/a.cjs', SOURCE)).toBeUndefined();
  });

  it('deletes entries of a month ago', () => {
    cache.write('/x/a.cjs', SOURCE, () => CODE);
    const old = Date.now() / 1000 - 31 * 24 * 3600;
    utimesSync(onlyEntry(), old, old);
    cache.write('/x/b.cjs', SOURCE, () => CODE);
    expect(onlyEntry()).toContain('b.cjs');
  });
});
