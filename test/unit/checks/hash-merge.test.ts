import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { type ObjectKey, toByteString } from '../../../src/core/brands.js';
import { HashList, type HashRun, mergeHashes } from '../../../src/lake/checks/hash-merge.js';
import { openStore } from '../../../src/lake/store/index.js';
import { seededRandom } from '../../support/random.js';
import { SEED } from '../../support/seeds.js';

const folder = mkdtempSync(join(tmpdir(), 'worktrack-hashes-'));
const store = openStore({ url: pathToFileURL(folder).href });
afterAll(() => rmSync(folder, { recursive: true }));

let written = 0;

async function runOf(values: readonly string[], sign: 1 | -1 = 1): Promise<HashRun> {
  const list = new HashList();
  for (const value of values) list.add(toByteString(value));
  const key = `run-${written++}.bin` as ObjectKey;
  const { crc32 } = await store.write(key, list.sorted());
  return { key, sign, crc32 };
}

async function merged(runs: readonly HashRun[]) {
  const output: Buffer[] = [];
  const found = await mergeHashes(store, runs, async (sorted) => void output.push(Buffer.from(sorted)));
  return { found, output: Buffer.concat(output) };
}

describe(`sorted hashes (seed ${SEED})`, () => {
  it('differ for a million values that people and programs write', () => {
    const list = new HashList();
    for (let n = 0; n < 250_000; n++) {
      list.add(toByteString(String(n)));
      list.add(toByteString(`INV-2026-${String(n).padStart(8, '0')}`));
      list.add(toByteString(`01M8B10R4${n.toString(36).toUpperCase().padStart(17, '0')}`));
      list.add(toByteString(`user${n}@example.com`));
    }
    const sorted = new BigUint64Array(new Uint8Array(list.sorted()).buffer);
    let equal = 0;
    for (let at = 1; at < sorted.length; at++) if (sorted[at] === sorted[at - 1]) equal++;
    expect([sorted.length, equal]).toEqual([1_000_000, 0]);
  });

  it('merge to the values that are left, and count those that several rows have', async () => {
    const random = seededRandom(SEED);
    for (let round = 0; round < 40; round++) {
      const range = 1 + random.below(2000);
      const some = (most: number) =>
        Array.from({ length: random.below(most) }, () => `v${random.below(range)}`);
      const added = Array.from({ length: 1 + random.below(5) }, () => some(1500));
      const all = added.flat();
      const removed = all.filter(() => random.below(4) === 0);
      const left = new Map<string, number>();
      for (const value of all) left.set(value, (left.get(value) ?? 0) + 1);
      for (const value of removed) left.set(value, left.get(value)! - 1);
      const counts = [...left.values()];
      const half = Math.floor(removed.length / 2);
      const runs = [
        ...(await Promise.all(added.map((values) => runOf(values)))),
        await runOf(removed.slice(0, half), -1),
        await runOf(removed.slice(half), -1),
      ];
      const { found, output } = await merged(runs);
      expect(found).toEqual({
        values: counts.reduce((sum, count) => sum + count, 0),
        shared: counts.filter((count) => count > 1).reduce((sum, count) => sum + count, 0),
      });
      const expected = await runOf([...left].flatMap(([value, count]) => Array<string>(count).fill(value)));
      expect(output.equals(await store.read(expected.key))).toBe(true);
    }
  });

  it('sorted hashes of two lists are what only one of them has, as often as it has more', () => {
    const listOf = (values: readonly string[]) => {
      const list = new HashList();
      for (const value of values) list.add(toByteString(value));
      return list;
    };
    const [added, removed] = [listOf(['a', 'a', 'a', 'b', 'c']), listOf(['d', 'c', 'a', 'a'])];
    expect(added.sortedWithout(removed).equals(listOf(['a', 'b']).sorted())).toBe(true);
    expect(removed.sortedWithout(added).equals(listOf(['d']).sorted())).toBe(true);
    expect(added.sortedWithout(added).length).toBe(0);
    expect(added.sorted().equals(listOf(['c', 'b', 'a', 'a', 'a']).sorted())).toBe(true);
  });

  it('are not merged if one is damaged, or if more is removed than there was', async () => {
    const run = await runOf(['a', 'b', 'c']);
    expect((await merged([run, await runOf(['a', 'a'], -1)])).found).toBeNull();
    expect((await merged([{ ...run, crc32: '00000000' }])).found).toBeNull();
    expect((await merged([run, await runOf(['a'], -1)])).found).toEqual({ values: 2, shared: 0 });
  });
});
