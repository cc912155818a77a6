import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type CodeCache, codeCache } from '../../../../src/cli/bundle/code-cache.js';

const SOURCE = Buffer.from('exports.a = 1');
const CODE = Buffer.from('compiled');

let root: string;
let folder: string;
let cache: CodeCache;
beforeEach(() => {
  root = join(mkdtempSync(join(tmpdir(), 'worktrack-code-')), 'cache');
  folder = join(root, 'compiled-commands');
  cache = codeCache(root);
});
afterEach(() => rmSync(join(root, '..'), { recursive: true, force: true }));

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
    const file = join(root, '..', 'file');
    writeFileSync(file, '');
    for (const place of [join(file, 'cache'), null]) {
      const without = codeCache(place);
      const make = vi.fn(() => CODE);
      without.write('/x/a.cjs', SOURCE, make);
      expect(make).not.toHaveBeenCalled();
      expect(without.read('/x/a.cjs', SOURCE)).toBeUndefined();
    }
  });

  it('returns nothing for a link, or from a file that others can write', () => {
    cache.write('/x/a.cjs', SOURCE, () => CODE);
    const entry = onlyEntry();
    chmodSync(entry, 0o666);
    expect(cache.read('/x/a.cjs', SOURCE)).toBeUndefined();
    chmodSync(entry, 0o600);
    expect(cache.read('/x/a.cjs', SOURCE)).toEqual(CODE);
    renameSync(entry, join(root, 'elsewhere'));
    symlinkSync(join(root, 'elsewhere'), entry);
    expect(cache.read('/x/a.cjs', SOURCE)).toBeUndefined();
  });

  it('lets others read the folder above, which may also hold servers', () => {
    cache.write('/x/a.cjs', SOURCE, () => CODE);
    expect(statSync(root).mode & 0o777).toBe(0o777 & ~process.umask());
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it.runIf(process.getuid?.() === 0)("makes no folder of root's in the home of a user", () => {
    const home = join(root, '..', 'home');
    mkdirSync(home);
    chownSync(home, 12_345, 12_345);
    codeCache(join(home, '.cache')).write('/x/a.cjs', SOURCE, () => CODE);
    expect(readdirSync(home)).toEqual([]);
  });

  it('deletes entries of a month ago, and nothing else', () => {
    cache.write('/x/a.cjs', SOURCE, () => CODE);
    const notes = join(folder, 'notes.txt');
    writeFileSync(notes, '');
    const old = Date.now() / 1000 - 31 * 24 * 3600;
    for (const name of readdirSync(folder)) utimesSync(join(folder, name), old, old);
    cache.write('/x/b.cjs', SOURCE, () => CODE);
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/^b\.cjs-/), 'notes.txt']);
  });
});
