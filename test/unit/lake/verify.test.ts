import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import { noFacts } from '../../../src/core/value-facts.js';
import { DamagedError } from '../../../src/lake/damaged-error.js';
import { indexKey } from '../../../src/lake/documents/block-index.js';
import { encodeWithChecksum } from '../../../src/lake/documents/checksums.js';
import { pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { readManifest } from '../../../src/lake/documents/manifest.js';
import { RowSplitter } from '../../../src/lake/rows/csv.js';
import { crc32, crc32ToHex } from '../../../src/lake/store/crc32.js';
import { type ObjectStore, openStore, StoreError } from '../../../src/lake/store/index.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { readRunLog } from '../../../src/temporal/status/run-log.js';
import { drawn, rounds } from '../../support/seeds.js';
import { type PublishedRun, publishRun } from './published.js';

const RUN = '20261121T020000Z-1a2b3c4d' as RunId;
const COLUMNS = [
  { name: 'id', types: 16, values: noFacts() },
  { name: 'title', types: 17, values: noFacts() },
];
const row = (
  id: string,
  title: string | null = `Title of ${id}, "quoted"\nand broken`,
): (string | null)[] => [id, title];
const PARTS = [
  ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7'].map((id) => row(id)),
  [row('b1', ''), row('b2', null), row('b3', 'CR\rinside'), row('b4', 'ü')],
];

let folder: string;
let store: ObjectStore;
let run: PublishedRun;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-verify-'));
  store = openStore({ url: pathToFileURL(folder).href });
  run = await publishRun(store, {
    resource: 'tasks',
    runId: RUN,
    date: '2026-11-21',
    columns: COLUMNS,
    parts: PARTS,
  });
});
afterEach(async () => {
  store.close();
  await rm(folder, { recursive: true, force: true });
});

const problems = async (): Promise<string[]> => {
  const report = await verifySnapshot(store, 'tasks');
  expect(report.ok).toBe(report.problems.length === 0);
  return [...report.problems];
};
const part = (at: number): ObjectKey => run.parts[at]!.key;

/** Changes an object without its manifest. */
async function change(key: ObjectKey, edit: (body: Buffer) => Buffer | string): Promise<void> {
  await store.write(key, Buffer.from(edit(await store.read(key))));
}

interface RawManifest {
  resources: Record<string, unknown>[];
  worktrack: { counts: Record<string, number>; parts: Record<string, unknown>[]; [name: string]: unknown };
}

async function changeManifest(
  edit: (manifest: RawManifest) => void,
  key = run.pointer.snapshot,
): Promise<void> {
  await change(key, (body) => {
    const manifest = JSON.parse(body.toString()) as RawManifest;
    edit(manifest);
    return JSON.stringify(manifest);
  });
}

/** Changes a part's text and updates its bytes and hashes in the manifest, so that only the rows show the damage. */
async function forge(at: number, edit: (text: string) => string): Promise<void> {
  const text = Buffer.from(edit(gunzipSync(await store.read(part(at))).toString()));
  const body = gzipSync(text);
  await store.write(part(at), body);
  await changeManifest(({ resources, worktrack }) => {
    const sha256 = createHash('sha256').update(body).digest('hex');
    const crc = crc32ToHex(crc32(body));
    Object.assign(worktrack.parts[at]!, { bytes: body.length, rawBytes: text.length, crc32: crc, sha256 });
    Object.assign(resources[at]!, { bytes: body.length, hash: `sha256:${sha256}` });
  });
}

describe('files of other programs in the folders of runs', () => {
  const other = (key: string, name: string): ObjectKey =>
    `${key.slice(0, key.lastIndexOf('/'))}/${name}` as ObjectKey;

  it('are named, and are no problem', async () => {
    const { snapshot, changes } = run.pointer;
    for (const [key, name] of [
      [snapshot, 'part-00000-1a2b3c4d (1).csv.gz'],
      [snapshot, '.DS_Store'],
      [changes!, 'part-00000-1a2b3c4d.sync-conflict-20261122-101500-ABCDEFG.csv.gz'],
      [changes!, '@eaDir/part-00000-1a2b3c4d.csv.gz'],
    ] as const)
      await store.write(other(key, name), Buffer.from('no part'));
    const { ok, notes } = await verifySnapshot(store, 'tasks');
    expect({ ok, notes }).toEqual({
      ok: true,
      notes: [
        `${other(snapshot, '.DS_Store')} is not part of the lake. Queries leave it out`,
        `${other(snapshot, 'part-00000-1a2b3c4d (1).csv.gz')} is not part of the lake. Queries leave it out`,
        `${other(changes!, '@eaDir/part-00000-1a2b3c4d.csv.gz')} is not part of the lake. Queries leave it out`,
        `${other(changes!, 'part-00000-1a2b3c4d.sync-conflict-20261122-101500-ABCDEFG.csv.gz')} is not part of the lake. Queries leave it out`,
      ],
    });
  });

  it('are counted if there are many', async () => {
    for (let at = 0; at < 13; at++)
      await store.write(other(run.pointer.snapshot, `copy ${at}.csv`), Buffer.from('no part'));
    const { notes } = await verifySnapshot(store, 'tasks');
    expect(notes).toHaveLength(11);
    expect(notes.at(-1)).toBe('3 more files are not part of the lake');
  });

  /** A store with a folder that cannot be read. A test may run as root, who reads every folder. */
  const denying = (inner: ObjectStore, denied: string): ObjectStore => ({
    ...inner,
    async *list(prefix, options) {
      if (denied.startsWith(prefix) && options?.skipUnreadable?.(denied) !== true)
        throw new Error(`access to ${denied} is denied`);
      yield* inner.list(prefix, options);
    },
  });

  it('may be in a folder that cannot be read', async () => {
    const denied = other(run.pointer.changes!, '@eaDir/');
    const { ok, notes } = await verifySnapshot(denying(store, denied), 'tasks');
    expect({ ok, notes }).toEqual({
      ok: true,
      notes: [`${denied} is not part of the lake, and cannot be read`],
    });
    // The folder of a run is not one of these.
    const own = `${run.pointer.changes!.slice(0, run.pointer.changes!.lastIndexOf('/'))}/`;
    await expect(verifySnapshot(denying(store, own), 'tasks')).rejects.toThrow(own);
  });
});

describe('Verifying a snapshot', () => {
  it('finds no problem in a lake that the package writes, and counts its parts, rows and bytes', async () => {
    expect(await verifySnapshot(store, 'tasks')).toEqual({
      resource: 'tasks',
      runId: RUN,
      ok: true,
      parts: 2,
      rows: 11,
      bytes: run.parts[0]!.bytes + run.parts[1]!.bytes,
      problems: [],
      damaged: [],
      notes: [],
      checks: null,
      earlier: null,
      recovery: [],
    });
  });

  it('finds no problem in uncompressed parts, with another delimiter and in a snapshot without rows', async () => {
    const csv = { compression: 'none', delimiter: '|' } as const;
    const more = { runId: RUN, date: '2026-11-21', columns: COLUMNS };
    await publishRun(store, { ...more, resource: 'plain', parts: PARTS, csv });
    await publishRun(store, { ...more, resource: 'empty', parts: [[]] });
    expect((await verifySnapshot(store, 'plain')).problems).toEqual([]);
    expect((await verifySnapshot(store, 'empty')).problems).toEqual([]);
  });

  it('reads parts that are larger than any buffer', async () => {
    const rows = Array.from({ length: 3000 }, (_, n) =>
      row(`k${String(n).padStart(5, '0')}`, randomBytes(n % 50 === 0 ? 40_000 : 200).toString('base64')),
    );
    const big = {
      resource: 'big',
      runId: RUN,
      date: '2026-11-21',
      columns: COLUMNS,
      parts: [rows],
      blockRows: 100,
    };
    await publishRun(store, big);
    expect(await verifySnapshot(store, 'big')).toMatchObject({ ok: true, rows: 3000 });
  });

  it('reports that nothing is published if there is no pointer', async () => {
    expect(await verifySnapshot(store, 'projects')).toMatchObject({
      ok: false,
      runId: null,
      problems: ['projects/latest.json is missing: nothing is published'],
    });
  });

  it.each([
    ['no JSON', () => '{'],
    ['not a pointer', () => '{"runId":"x"}'],
    ['of another resource', (body: Buffer) => body.toString().replace('"tasks"', '"projects"')],
    [
      'leading out of its tree',
      (body: Buffer) => body.toString().replace('tasks/snapshots/', 'other/snapshots/'),
    ],
    ['of another run', (body: Buffer) => body.toString().replace(`"${RUN}"`, '"20261120T020000Z-00000000"')],
  ])('names a pointer that is %s', async (_, edit) => {
    await change(pointerKey('tasks'), edit);
    expect((await problems())[0]).toContain('tasks/latest.json');
  });

  it('names a missing manifest in the pointer', async () => {
    await store.remove([run.pointer.snapshot]);
    expect(await problems()).toEqual([`${run.pointer.snapshot} is missing, and tasks/latest.json names it`]);
    await store.remove([run.pointer.changes!]);
    expect(await problems()).toContain(`${run.pointer.changes} is missing, and tasks/latest.json names it`);
  });

  it('names a manifest that cannot be read', async () => {
    await change(run.pointer.snapshot, (body) => body.subarray(0, 200));
    expect((await problems()).join('\n')).toContain(`${run.pointer.snapshot} is not JSON`);
    await change(run.pointer.snapshot, () => '{"resources":[],"worktrack":{}}');
    expect((await problems()).join('\n')).toContain(
      `${run.pointer.snapshot} is not a document of this connector`,
    );
  });

  it('names a missing part and a missing index', async () => {
    await store.remove([part(0), indexKey(part(1))]);
    expect(await problems()).toEqual([`${part(0)} is missing`, `${indexKey(part(1))} is missing`]);
  });

  it('finds any single flipped byte of a part, and names the part', async () => {
    const good = await store.read(part(0));
    await fc.assert(
      fc.asyncProperty(fc.nat(good.length - 1), fc.integer({ min: 1, max: 255 }), async (at, mask) => {
        const bad = Buffer.from(good);
        bad[at]! ^= mask;
        await writeFile(join(folder, part(0)), bad);
        const found = await problems();
        expect(found.filter((problem) => problem.includes('SHA-256'))).toHaveLength(1);
        expect(found.every((problem) => problem.startsWith(part(0)))).toBe(true);
      }),
      { numRuns: rounds(20) },
    );
  });

  it('finds a truncated object at any length', async () => {
    const good = await store.read(part(0));
    await fc.assert(
      fc.asyncProperty(fc.nat(good.length - 1), async (length) => {
        await writeFile(join(folder, part(0)), good.subarray(0, length));
        const found = (await problems()).join('\n');
        expect(found).toContain(`${part(0)} is not a complete gzip file`);
        expect(found).toContain(`${part(0)} has ${length} bytes instead of ${good.length}`);
      }),
      { numRuns: rounds(20) },
    );
  });

  it('finds bytes after the end of a part', async () => {
    await change(part(0), (body) => Buffer.concat([body, Buffer.alloc(100_000, 7)]));
    expect((await problems())[0]).toContain(`${part(0)} has ${run.parts[0]!.bytes + 100_000} bytes`);
  });

  it('finds a dropped row although bytes and hashes agree', async () => {
    await forge(0, (text) => text.replace(/^.*,a3,"(?:[^"]|"")*"\n/m, ''));
    const found = (await problems()).join('\n');
    expect(found).toContain(`${part(0)} has 6 rows instead of 7`);
    expect(found).toContain(indexKey(part(0)));
  });

  it('finds a repeated key although bytes, hashes and counts agree', async () => {
    await forge(0, (text) => text.replace(',a4,', ',a3,'));
    expect(await problems()).toContain(`${part(0)}: the key of row 4 is the same as in the previous row`);
  });

  it('finds rows that are out of order', async () => {
    await forge(0, (text) => text.replace(',a4,', ',a1,'));
    expect(await problems()).toContain(`${part(0)}: the key of row 4 is less than in the previous row`);
  });

  it('finds a header that does not match the manifest', async () => {
    await forge(1, (text) => text.replace('title', 'tilte'));
    expect(await problems()).toContain(`${part(1)}: its header does not match the manifest's columns`);
  });

  it('finds rows with too few and too many cells, and reports the first with the count of others', async () => {
    await forge(1, (text) => text.replace(',b1,""', ',b1').replace('b2,\n', 'b2,,\n').replace('ü', 'ü,'));
    expect(await problems()).toContain(
      `${part(1)}: row 1 has 4 cells, but the header has 5 (and 2 more like it)`,
    );
  });

  it('finds a row that is not valid CSV or does not begin with the metadata columns', async () => {
    await forge(1, (text) => text.replace('ü', 'a"ü').replace(`${RUN},2026`, `${RUN},x2026`));
    const found = (await problems()).join('\n');
    expect(found).toContain(`${part(1)}: row 1 does not begin with a run id and times`);
    expect(found).toContain(`${part(1)} ends in the middle of row 4`);
  });

  it('finds parts that were swapped', async () => {
    const [first, second] = [await store.read(part(0)), await store.read(part(1))];
    await store.write(part(0), second);
    await store.write(part(1), first);
    const found = (await problems()).join('\n');
    expect(found).toContain(`${part(0)} has ${second.length} bytes`);
    expect(found).toContain(`${part(1)} has ${first.length} bytes`);
  });

  it('finds parts that the manifest lists in the wrong order', async () => {
    await changeManifest(({ resources, worktrack }) => {
      resources.reverse();
      worktrack.parts.reverse();
    });
    expect(await problems()).toContain(
      `${part(0)}: its first key is not greater than the last key of the previous part`,
    );
  });

  it.each(['fetched', 'inserted', 'updated', 'rows', 'duplicates', 'deleted'])(
    'finds a wrong count: %s',
    async (name) => {
      await changeManifest(({ worktrack }) => {
        worktrack.counts[name]!++;
      });
      expect((await problems()).join('\n')).toContain('does not add up');
    },
  );

  it('finds a pointer with a wrong number of rows', async () => {
    await change(pointerKey('tasks'), (body) => body.toString().replace('"rows": 11', '"rows": 12'));
    expect(await problems()).toContain(
      'tasks/latest.json does not add up: rows of the pointer and rows of the manifest: 12 and 11',
    );
  });

  it('finds a manifest whose Frictionless fields do not match its own fields', async () => {
    await changeManifest(({ resources }) => Object.assign(resources[1]!, { rowCount: 5 }));
    expect((await problems()).join('\n')).toContain(`${run.pointer.snapshot}: resource 1 and part 1`);
  });

  it.each([
    ['a row too many', (index: number[][]) => index[1]![2]!++],
    ['another checksum', (index: number[][]) => index[1]![6]!++],
    ['another offset', (index: number[][]) => index[1]![3]!++],
    ['another key', (index: unknown[][]) => Object.assign(index[1]!, { 0: 'a33' })],
    ['a block less', (index: unknown[][]) => index.pop()],
  ])('finds an index with %s, and still reads the rows', async (_, edit) => {
    await change(indexKey(part(0)), (body) => {
      const index = JSON.parse(body.toString()) as { blocks: number[][] };
      edit(index.blocks);
      return JSON.stringify(index);
    });
    const report = await verifySnapshot(store, 'tasks');
    expect(report).toMatchObject({ ok: false, rows: 11 });
    expect(report.problems[0]).toContain(indexKey(part(0)));
    expect(report.problems.every((problem) => problem.includes('index'))).toBe(true);
  });

  it('checks the change log of the run', async () => {
    const key = part(1).replace('/snapshots/', '/changes/') as ObjectKey;
    await change(key, (body) => body.subarray(0, -1));
    expect((await problems())[0]).toContain(key);
  });

  it('stops when its signal is aborted', async () => {
    const reason = new Error('enough');
    await expect(verifySnapshot(store, 'tasks', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe('A row splitter', () => {
  it('returns the same rows however the text is divided into chunks', () => {
    const rows = ['a,b\n', '"x\n""y""",\n', ',""\n', '"\n"\n', '1,"""\n"""\n'];
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...rows), { maxLength: 20 }),
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
        (expected, cuts) => {
          const text = expected.join('');
          const splitter = new RowSplitter();
          const found: string[] = [];
          for (let at = 0, n = 0; at < text.length; n++) {
            const size = cuts[n % cuts.length]!;
            found.push(...splitter.push(text.slice(at, at + size)));
            at += size;
          }
          expect(found).toEqual(expected);
          expect(splitter.rest()).toBe('');
        },
      ),
    );
  });

  it('does not buffer a row of unlimited length', () => {
    const splitter = new RowSplitter(100);
    expect(() => {
      for (let n = 0; n < 50; n++) [...splitter.push('"never closed')];
    }).toThrow('longer than 100 bytes');
  });
});

describe('An object that the store does not return', () => {
  /** A store that refuses to return some objects. */
  function refusing(isRefused: (key: string) => boolean, kind: 'archived' | 'access-denied'): ObjectStore {
    const check = (operation: string, key: string): void => {
      if (!isRefused(key)) return;
      const words = { problem: 'the object is in an archive', remedy: 'Restore it.' };
      throw new StoreError({ kind, operation, key, bucket: store.url, ...words });
    };
    const reads: Pick<ObjectStore, 'read' | 'readIfExists' | 'stream'> = {
      read: async (key, options) => {
        check('read', key);
        return store.read(key, options);
      },
      readIfExists: async (key) => {
        check('read', key);
        return store.readIfExists(key);
      },
      async *stream(key, options) {
        check('stream', key);
        yield* store.stream(key, options);
      },
    };
    return { ...store, ...reads };
  }

  it.each<[string, (key: string) => boolean]>([
    ['the pointer', (key) => key === 'tasks/latest.json'],
    ['a manifest', (key) => key === run.pointer.snapshot],
    ['a part', (key) => key === part(0)],
    ['an index', (key) => key === indexKey(part(0))],
    ['the whole snapshot', (key) => key.startsWith('tasks/snapshots/')],
    ['the change logs', (key) => key.startsWith('tasks/changes/')],
  ])('is named, is not called damaged, and needs no backup: %s', async (_, isRefused) => {
    for (const kind of ['archived', 'access-denied'] as const) {
      const report = await verifySnapshot(refusing(isRefused, kind), 'tasks');
      expect(report).toMatchObject({ ok: false, damaged: [], earlier: null });
      for (const problem of report.problems) expect(problem).toMatch(/is in an archive\. Restore it\.$/);
      expect(report.recovery).toEqual([expect.stringContaining('nothing is known about')]);
    }
  });
});

describe('A manifest with a good checksum and a wrong field', () => {
  it('is named as damaged by whatever reads it, and never ends in an unexpected error', async () => {
    const key = run.pointer.snapshot;
    const intact = JSON.parse((await store.read(key)).toString()) as RawManifest;
    const names = Object.keys(intact.worktrack).filter((name) => !['checksum', 'layout'].includes(name));
    expect(names.length).toBeGreaterThan(15);
    const values = drawn<unknown>([undefined, null, 7, 'x', [], {}, [null]], 3);
    for (const name of names)
      for (const value of values) {
        const worktrack = { ...intact.worktrack, [name]: value };
        if (JSON.stringify(worktrack) === JSON.stringify(intact.worktrack)) continue;
        await store.write(key, encodeWithChecksum({ ...intact, worktrack }));
        const report = await verifySnapshot(store, 'tasks');
        if (report.ok) continue;
        expect(report.problems.join(), name).toContain(key);
        const read = await readManifest(store, key).catch((error: unknown) => error);
        if (read instanceof Error) expect(read, name).toBeInstanceOf(DamagedError);
        const history = await readRunLog(null, { name: 'acme' } as ConnectionSettings, store, {
          ...{ resources: ['tasks'], limit: 5 },
        }).catch((error: unknown) => error);
        if (history instanceof Error) expect(history, name).toBeInstanceOf(DamagedError);
      }
  });
});
