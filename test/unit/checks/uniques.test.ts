import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { type ObjectKey, toByteString } from '../../../src/core/brands.js';
import { planChecks } from '../../../src/lake/checks/check-plan.js';
import { HashList } from '../../../src/lake/checks/hash-merge.js';
import { type TaskHashes, TaskMeter } from '../../../src/lake/checks/task-meter.js';
import { continuedUniques, mergeUniques } from '../../../src/lake/checks/uniques.js';
import type { UniqueState } from '../../../src/lake/documents/check-record.js';
import type { PublishedPart } from '../../../src/lake/documents/manifest.js';
import { openStore } from '../../../src/lake/store/index.js';
import { CSV } from '../lake/published.js';

const folder = mkdtempSync(join(tmpdir(), 'worktrack-uniques-'));
const store = openStore({ url: pathToFileURL(folder).href });
afterAll(() => rmSync(folder, { recursive: true }));

const plan = planChecks({
  ...{ key: ['id'], csv: CSV, columns: { include: null, exclude: [], mask: {} } },
  checks: [{ kind: 'unique', field: 'ref', of: 'snapshot', onFail: 'stop' }],
})!;
const { id } = plan.uniques[0]!;
const key = (name: string) => name as ObjectKey;
const part = (sha256: string) => ({ sha256, rows: 1 }) as PublishedPart;

let written = 0;

async function hashesOf(values: readonly string[], sign: 1 | -1 = 1): Promise<TaskHashes> {
  const list = new HashList();
  for (const value of values) list.add(toByteString(value));
  const object = key(`_staging/tasks/run/${written++}.bin`);
  const { crc32 } = await store.write(object, list.sorted());
  return { id, scope: 'snapshot', sign, key: object, crc32 };
}

let runs = 0;

function merge(
  hashes: readonly TaskHashes[],
  parts: readonly PublishedPart[],
  base: Parameters<typeof continuedUniques>[1],
  rows: readonly string[],
) {
  const token = `t${runs++}`;
  return mergeUniques(store, {
    ...{ plan, base, hashes, parts, token, signal: new AbortController().signal },
    recount: async () => [await hashesOf(rows)],
    stagedKey: (name) => key(`_staging/tasks/run/${name}`),
    folder: key('tasks/snapshots/dt=2026-11-21/run=x'),
  });
}

const manifest = key('tasks/snapshots/dt=2026-11-21/run=x/_datapackage.json');
const baseOf = (uniques: Readonly<Record<string, UniqueState>>, parts: readonly PublishedPart[]) => ({
  ...{ manifest, parts, uniques },
});

describe('the hashes of a unique field', () => {
  it('the hashes of a unique field of any number of tasks are merged a few at a time', async () => {
    const numbers = Array.from({ length: 300 }, (_, n) => n);
    const added = await Promise.all(numbers.map((n) => hashesOf([`a${n}`, `b${n}`, `c${n % 10}`])));
    const removed = await Promise.all(numbers.map((n) => hashesOf([`b${n}`], -1)));
    const { shared, states } = await merge([...added, ...removed], [part('1')], null, []);
    expect([shared.get(id), states[id]!.values]).toEqual([300, 600]);
  });

  it('continue from run to run, until a part is not the one that they belong to', async () => {
    const first = await merge([await hashesOf(['a', 'b'])], [part('1')], null, []);
    const base = baseOf(first.states, [part('1')]);
    expect(Object.keys(continuedUniques(plan, base))).toEqual([id]);
    expect(continuedUniques(plan, baseOf(first.states, [part('purged')]))).toEqual({});
    const quiet = await merge([], [part('2')], base, []);
    expect(quiet.states[id]).toMatchObject({ values: 2, shared: 0 });
    expect(quiet.states[id]!.path).not.toBe(first.states[id]!.path);
    const next = await merge([await hashesOf(['b'])], [part('3')], baseOf(quiet.states, [part('2')]), []);
    expect([next.shared.get(id), next.states[id]!.values]).toEqual([2, 3]);
  });

  it('are made of the rows again if their object is gone, damaged, or of other rows', async () => {
    const rows = ['a', 'b', 'b'];
    const first = await merge([await hashesOf(['a', 'b'])], [part('1')], null, []);
    const state = first.states[id]!;
    const added = await hashesOf(['b']);
    const again = (changed: UniqueState, hashes: readonly TaskHashes[] = [added]) =>
      merge(hashes, [part('2')], baseOf({ [id]: changed }, [part('1')]), rows);
    const bad = [
      again({ ...state, path: 'gone.bin' }),
      again({ ...state, path: 'gone.bin' }, []),
      again({ ...state, crc32: '00000000' }),
      again(state, [added, await hashesOf(['never there'], -1)]),
    ];
    for (const one of await Promise.all(bad))
      expect([one.shared.get(id), one.states[id]!.values]).toEqual([2, 3]);
  });

  it('of a first run count each row once, whatever the number of parts that a task wrote', async () => {
    const signal = new AbortController().signal;
    const csv = { ...CSV, compression: 'none' } as const;
    const prefix = '20261121T020000Z-1a2b3c4d,2026-11-21T02:00:00Z,,';
    const meter = new TaskMeter({
      ...{ store, plan, signal, continued: new Set<string>(), form: { names: ['id', 'ref'], csv } },
      keyOf: (name) => key(`_staging/tasks/run/${written++}-${name}`),
    });
    const parts = ['1,a', '2,b'].map(async (cells) => {
      const row = toByteString(`${prefix}${cells}\n`);
      meter.changed(null, row);
      const object = key(`tasks/snapshots/part-${written++}.csv`);
      const stored = await store.write(object, Buffer.from(`header\n${row}`));
      return { ...stored, rows: 1 } as unknown as PublishedPart;
    });
    const { checks, parts: measured } = await meter.measure(null, await Promise.all(parts));
    expect(measured.map(({ checks: figures }) => Object.values(figures!))).toEqual([[1], [1]]);
    const { shared, states } = await merge(checks.hashes, measured, null, []);
    expect([shared.get(id), states[id]!.values]).toEqual([0, 2]);
  });

  it('have no object if there are only nulls', async () => {
    const { states, objects } = await merge([], [part('1')], null, []);
    expect([states[id]!.path, objects]).toEqual([null, []]);
    const next = await merge([await hashesOf(['a'])], [part('2')], baseOf(states, [part('1')]), []);
    expect(next.states[id]).toMatchObject({ values: 1, shared: 0 });
  });
});
