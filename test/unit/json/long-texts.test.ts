import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { ByteString } from '../../../src/core/brands.js';
import { compact } from '../../../src/json/scanner.js';
import { decodeString } from '../../../src/json/string.js';

const PIECES = 6_000_000;
/** With 32 bytes for each piece, it would be 180 MiB. */
const MOST_MIB = 60;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** The value, and by how much the heap has grown meanwhile, MiB. */
function growing<T>(make: () => T): { readonly value: T; readonly mib: number } {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const value = make();
  collectGarbage();
  return { value, mib: (process.memoryUsage().heapUsed - before) / 1024 / 1024 };
}

describe('long texts', () => {
  it('take little more memory than their characters, even if they consist of escapes', () => {
    const raw = '\\n'.repeat(PIECES) as ByteString;
    const { value, mib } = growing(() => decodeString(raw).value);
    expect(mib).toBeLessThan(MOST_MIB);
    expect(value === '\n'.repeat(PIECES)).toBe(true);
  });

  it('take little more memory than their characters when the white space between tokens is removed', () => {
    const json = `[${'1 , '.repeat(PIECES / 2)}1]` as ByteString;
    const { value, mib } = growing(() => compact(json));
    expect(mib).toBeLessThan(MOST_MIB);
    expect(value === `[${'1,'.repeat(PIECES / 2)}1]`).toBe(true);
  });
});
