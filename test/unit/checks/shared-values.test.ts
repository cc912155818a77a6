import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { type ObjectKey, toByteString } from '../../../src/core/brands.js';
import { planChecks } from '../../../src/lake/checks/check-plan.js';
import { compareValues } from '../../../src/lake/checks/shared-values.js';
import type { RunValues } from '../../../src/lake/checks/task-meter.js';
import { HashList } from '../../../src/lake/checks/value-hashes.js';
import type { PublishedPart } from '../../../src/lake/documents/manifest.js';
import { type ObjectStore, openStore } from '../../../src/lake/store/index.js';
import { seededRandom } from '../../support/random.js';
import { SEED } from '../../support/seeds.js';
import { CSV } from '../lake/published.js';

const folder = mkdtempSync(join(tmpdir(), 'worktrack-shared-'));
const store = openStore({ url: pathToFileURL(folder).href });
afterAll(() => rmSync(folder, { recursive: true }));

const FIELDS = ['ref', 'label'] as const;
const plan = planChecks({
  ...{ key: ['id'], csv: CSV, columns: { include: null, exclude: [], mask: {} } },
  checks: [
    ...FIELDS.map((field) => ({ kind: 'unique', field, of: 'snapshot', onFail: 'stop' }) as const),
    { kind: 'unique', field: 'ref', of: 'run', onFail: 'stop' },
  ],
})!;
const [refs, labels, ofRun] = plan.uniques.map(({ id }) => id) as [string, string, string];
const csv = { ...CSV, compression: 'none' } as const;
const form = { names: ['id', ...FIELDS], csv };
const signal = new AbortController().signal;

/** `null`: a null; a row without values is a tombstone. */
type Row = readonly [string | null, string | null] | null;

let written = 0;

async function partOf(rows: readonly Row[]): Promise<PublishedPart> {
  const lines = rows.map((row, at) => {
    const deletedAt = row === null ? '2026-11-21T02:00:00Z' : '';
    const cells = (row ?? ['gone', 'gone']).map((value) => value ?? '');
    return `20261121T020000Z-1a2b3c4d,2026-11-21T02:00:00Z,${deletedAt},${at},${cells.join(',')}\n`;
  });
  const stored = await store.write(`part-${written++}.csv` as ObjectKey, Buffer.from(`h\n${lines.join('')}`));
  return { ...stored, sha256: `sha-${written}`, rows: rows.length } as unknown as PublishedPart;
}

async function valuesOfRun(values: readonly string[]): Promise<RunValues> {
  const list = new HashList();
  for (const value of values) list.add(toByteString(value));
  const key = `values-${written++}` as ObjectKey;
  await store.write(key, list.bytes());
  return { id: ofRun, key, values: values.length };
}

/** A store that counts the objects that are read. */
function counting(): { readonly store: ObjectStore; readonly reads: () => number } {
  let reads = 0;
  const streaming = new Proxy(store, {
    get(target, name) {
      if (name === 'stream') reads++;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { store: streaming, reads: () => reads };
}

/** Rows whose value another row has, too, by the values themselves. */
function sharing(values: readonly (string | null)[]): number {
  const found = values.filter((value) => value !== null);
  const once = new Set<string>();
  const twice = new Set(found.filter((value) => once.size === once.add(value).size));
  return found.filter((value) => twice.has(value)).length;
}

const compare = (
  parts: readonly PublishedPart[],
  options: Partial<Parameters<typeof compareValues>[0]> = {},
) => compareValues({ store, plan, base: null, parts, ofRun: [], form, signal, ...options });

describe(`the values of unique fields (seed ${SEED})`, () => {
  it('shared by rows are counted as a set of the values counts them, in any number of passes', async () => {
    const random = seededRandom(SEED);
    for (let round = 0; round < 30; round++) {
      const range = 1 + random.below(3000);
      const value = (): string | null => (random.below(8) === 0 ? null : `v${random.below(range)}`);
      const row = (): Row => (random.below(20) === 0 ? null : [value(), value()]);
      const tables = Array.from({ length: 1 + random.below(4) }, () =>
        Array.from({ length: random.below(2500) }, row),
      );
      const read = Array.from({ length: random.below(3) }, () =>
        Array.from({ length: random.below(2500) }, () => `v${random.below(range)}`),
      );
      const parts = await Promise.all(tables.map(partOf));
      const values = await Promise.all(read.map(valuesOfRun));
      const { shared } = await compare(parts, { ofRun: values, mostValues: 1 + random.below(6000) });
      const live = tables.flat().filter((one) => one !== null);
      expect([shared.get(refs), shared.get(labels), shared.get(ofRun)], `round ${round}`).toEqual([
        sharing(live.map(([ref]) => ref)),
        sharing(live.map(([, label]) => label)),
        sharing(read.flat()),
      ]);
    }
  });

  it('are read once if they fit into memory, and once for each share of them otherwise', async () => {
    const rows = Array.from({ length: 500 }, (_, n): Row => [`a${n}`, `b${n % 250}`]);
    const parts = [await partOf(rows), await partOf(rows.slice(0, 1))];
    for (const [mostValues, passes] of [
      [10_000, 1],
      [1002, 1],
      [1001, 2],
      [100, 11],
    ] as const) {
      const counted = counting();
      const { shared } = await compare(parts, { store: counted.store, mostValues });
      expect([shared.get(refs), shared.get(labels)]).toEqual([2, 501]);
      expect(counted.reads(), `${mostValues} values at once`).toBe(2 * passes);
    }
  });

  it('are not read again if the snapshot has the same parts, whatever they are called', async () => {
    const parts = [
      await partOf([
        ['a', 'x'],
        ['a', 'y'],
      ]),
    ];
    const { states } = await compare(parts);
    const counted = counting();
    const again = (now: readonly PublishedPart[]) =>
      compare(now, { store: counted.store, base: { parts, uniques: states } });
    const quiet = await again(parts.map((part) => ({ ...part, key: 'renamed.csv' as ObjectKey })));
    expect([quiet.shared.get(refs), quiet.states, counted.reads()]).toEqual([2, states, 0]);
    const changed = await again([...parts, await partOf([['b', 'x']])]);
    expect([changed.shared.get(refs), changed.shared.get(labels), counted.reads()]).toEqual([2, 2, 2]);
  });

  it('have different hashes for a million values that people and programs write', () => {
    const list = new HashList();
    for (let n = 0; n < 250_000; n++) {
      list.add(toByteString(String(n)));
      list.add(toByteString(`INV-2026-${String(n).padStart(8, '0')}`));
      list.add(toByteString(`01M8B10R4${n.toString(36).toUpperCase().padStart(17, '0')}`));
      list.add(toByteString(`user${n}@example.com`));
    }
    const sorted = new BigUint64Array(new Uint8Array(list.bytes()).buffer).sort();
    let equal = 0;
    for (let at = 1; at < sorted.length; at++) if (sorted[at] === sorted[at - 1]) equal++;
    expect([sorted.length, equal]).toEqual([1_000_000, 0]);
  });
});
