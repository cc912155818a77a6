import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CodeCache } from '../../../../src/cli/bundle/code-cache.js';
import { loadCompiled } from '../../../../src/cli/bundle/load.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'worktrack-load-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A cache that counts what it returned. */
function memory() {
  const entries = new Map<string, Buffer>();
  const cache: CodeCache & { hits: number } = {
    hits: 0,
    read(file) {
      const data = entries.get(file);
      if (data !== undefined) cache.hits += 1;
      return data;
    },
    write: (file, _, make) => void entries.set(file, make()),
  };
  return cache;
}

interface Exports {
  readonly sum: number;
  readonly name: string;
  lazy(): Promise<{ value: number; sep: string }>;
}

describe('the loader of the bundle', () => {
  it('does the same with code from the cache, also `import`', async () => {
    writeFileSync(join(folder, 'b.cjs'), 'exports.two = 2; exports.one = () => require("./a.cjs").one;');
    writeFileSync(join(folder, 'c.mjs'), 'export const value = 3;');
    writeFileSync(
      join(folder, 'a.cjs'),
      `exports.one = 1;
const b = require('./b.cjs');
exports.sum = b.two + b.one();
exports.name = require('node:path').relative(__dirname, __filename);
exports.lazy = async () => ({ ...(await importModule('./c.mjs')), sep: (await importModule('node:path')).sep });`,
    );
    const cache = memory();
    for (const hits of [0, 2]) {
      const { exports, keepCode } = loadCompiled(join(folder, 'a.cjs'), cache);
      const { sum, name, lazy } = exports as Exports;
      expect({ sum, name, ...(await lazy()) }).toEqual({ sum: 3, name: 'a.cjs', value: 3, sep: '/' });
      expect(cache.hits).toBe(hits);
      keepCode();
    }
  });

  it('compiles a file whose code in the cache is of no use', () => {
    writeFileSync(join(folder, 'a.cjs'), 'exports.sum = 3;');
    const cache = memory();
    cache.write(join(folder, 'a.cjs'), Buffer.alloc(0), () => Buffer.from('other'));
    const { exports, keepCode } = loadCompiled(join(folder, 'a.cjs'), cache);
    expect((exports as Exports).sum).toBe(3);
    keepCode();
    expect((loadCompiled(join(folder, 'a.cjs'), cache).exports as Exports).sum).toBe(3);
  });
});
