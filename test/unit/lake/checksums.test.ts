import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../src/core/brands.js';
import { noFacts } from '../../../src/core/value-facts.js';
import { DamagedError } from '../../../src/lake/damaged-error.js';
import {
  checksumState,
  encodeWithChecksum,
  manifestChecksums,
} from '../../../src/lake/documents/checksums.js';
import { folderOf, pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { decodeManifest } from '../../../src/lake/documents/manifest.js';
import { decodePointer, encodePointer } from '../../../src/lake/documents/pointer.js';
import { recountRows, replaceParts } from '../../../src/lake/published/purge-rules.js';
import { readPublished, readSnapshotAt } from '../../../src/lake/published/read-published.js';
import { type ObjectStore, openStore } from '../../../src/lake/store/index.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { seededRandom } from '../../support/random.js';
import { type PublishedRun, publishRun } from './published.js';

const RUN = '20261121T020000Z-1a2b3c4d' as RunId;
const PURGE = '20261121T030000Z-00000009' as RunId;
const COLUMNS = [
  { name: 'id', types: 16, values: noFacts() },
  { name: 'title', types: 17, values: noFacts() },
];

let folder: string;
let store: ObjectStore;
let run: PublishedRun;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-checksums-'));
  store = openStore({ url: pathToFileURL(folder).href });
  run = await publishRun(store, {
    ...{ resource: 'tasks', runId: RUN, date: '2026-11-21', columns: COLUMNS },
    parts: [[...'abcdef'].map((id) => [id, `Title of ${id}`])],
  });
});
afterEach(async () => {
  store.close();
  await rm(folder, { recursive: true, force: true });
});

async function withChecksums(): Promise<void> {
  const manifests = await manifestChecksums(store, run.pointer);
  await store.write(pointerKey('tasks'), encodePointer({ ...run.pointer, manifests }));
}

async function change(key: ObjectKey, edit: (body: Buffer) => Buffer | string): Promise<void> {
  await store.write(key, Buffer.from(edit(await store.read(key))));
}

async function withoutChecksum(key: ObjectKey): Promise<void> {
  await change(key, (body) => {
    const found = JSON.parse(body.toString()) as { checksum?: string; worktrack?: { checksum?: string } };
    delete found.checksum;
    delete found.worktrack?.checksum;
    return JSON.stringify(found, null, found.worktrack === undefined ? 2 : 1);
  });
}

/** Flips random bits of an object, one at a time, and counts those that verify does not notice. */
async function unnoticed(key: ObjectKey, tries: number): Promise<number> {
  const good = await store.read(key);
  const random = seededRandom(15);
  let missed = 0;
  for (let n = 0; n < tries; n++) {
    const bad = Buffer.from(good);
    bad[random.below(good.length)]! ^= 1 << random.below(8);
    await writeFile(join(folder, key), bad);
    if ((await verifySnapshot(store, 'tasks')).ok) missed++;
  }
  await store.write(key, good);
  return missed;
}

describe('The checksums of pointer and manifests', () => {
  it('let verify detect any flipped bit', async () => {
    await withChecksums();
    expect((await verifySnapshot(store, 'tasks')).problems).toEqual([]);
    expect(await unnoticed(pointerKey('tasks'), 25)).toBe(0);
    expect(await unnoticed(run.pointer.snapshot, 25)).toBe(0);
    expect(await unnoticed(run.pointer.changes!, 25)).toBe(0);
  });

  it.each(['pointer', 'snapshot', 'changes'] as const)(
    'are required: a %s without one is damaged',
    async (which) => {
      const key = which === 'pointer' ? pointerKey('tasks') : run.pointer[which]!;
      await withoutChecksum(key);
      expect((await verifySnapshot(store, 'tasks')).ok).toBe(false);
      const reading = which === 'pointer' ? readPublished(store, 'tasks') : readSnapshotAt(store, key);
      await expect(reading).rejects.toThrow(/no checksum/);
    },
  );

  it('do not match a pointer whose checkpoint changed, so that no run starts from it', async () => {
    await withChecksums();
    await change(pointerKey('tasks'), (body) => body.toString().replace('T01:55:00Z', 'T01:56:00Z'));
    await expect(readPublished(store, 'tasks')).rejects.toThrow(
      /latest\.json is damaged|do not match its checksum/,
    );
    const found = await store.read(pointerKey('tasks'));
    expect(() => decodePointer(found)).toThrow('its fields do not match its checksum');
  });

  it('do not match a manifest whose previous run changed', async () => {
    await change(run.pointer.changes!, (body) =>
      body.toString().replace('"previousRunId": null', `"previousRunId": "${PURGE}"`),
    );
    const body = await store.read(run.pointer.changes!);
    expect(() => decodeManifest(body, folderOf(run.pointer.changes!))).toThrow(
      'its content does not match its checksum',
    );
  });

  it('accept a manifest that a purge has replaced, before and after the pointer follows', async () => {
    await withChecksums();
    const part = run.parts[0]!;
    const first = replaceParts(
      await store.read(run.pointer.snapshot),
      [{ before: part, after: part, by: PURGE }],
      'snapshots',
    );
    await store.write(run.pointer.snapshot, first);
    await store.write(run.pointer.snapshot, recountRows(first, 6));
    const { problems } = await verifySnapshot(store, 'tasks');
    expect(problems).toEqual([]);
    expect((await readPublished(store, 'tasks')).manifest.purged).toEqual([{ runId: PURGE, rows: 0 }]);
    // A damaged replacement is still detected.
    expect(await unnoticed(run.pointer.snapshot, 20)).toBe(0);
    await withChecksums();
    expect((await verifySnapshot(store, 'tasks')).problems).toEqual([]);
  });

  it('do not accept an older version of a manifest', async () => {
    const old = await store.read(run.pointer.snapshot);
    await store.write(run.pointer.snapshot, recountRows(old, 6));
    await withChecksums();
    await store.write(run.pointer.snapshot, old);
    expect((await verifySnapshot(store, 'tasks')).problems).toEqual([
      `${run.pointer.snapshot}: its SHA-256 does not match latest.json`,
    ]);
  });

  it('do not change the pointer fields that other readers use', () => {
    const written = JSON.parse(encodePointer(run.pointer).toString()) as Record<string, unknown>;
    expect(written).toMatchObject({ ...run.pointer });
    expect(checksumState(written)).toBe('intact');
    expect(decodePointer(encodePointer(run.pointer))).toEqual(run.pointer);
  });
});

describe('Verifying documents whose checksums are right', () => {
  it('throws at a layout that this version does not know', async () => {
    await resealManifest('snapshot', (text) => text.replace(/"layout": \d+/, '"layout": 3'));
    await expect(verifySnapshot(store, 'tasks')).rejects.toThrow('has layout 3 of the lake');
  });

  it.each([
    ['checkpoint', (text: string) => text.replace('T01:55:00Z', 'T01:56:00Z')],
    ['publishedAt', (text: string) => text.replace('02:00:01', '02:00:09')],
    ['connection', (text: string) => text.replace('"acme"', '"acmd"')],
    ['baseUrl', (text: string) => text.replace('tracker.', 'tracked.')],
  ])('compares "%s" of the pointer with the manifest', async (name, edit) => {
    const pointer = JSON.parse(edit(JSON.stringify(run.pointer))) as typeof run.pointer;
    await store.write(pointerKey('tasks'), encodePointer(pointer));
    expect((await verifySnapshot(store, 'tasks')).problems.join('\n')).toContain(`"${name}" of the pointer`);
  });

  it('compares what the two manifests of a run have in common', async () => {
    await resealManifest('changes', (text) =>
      text.replace('"previousRunId": null', '"previousRunId": "20261120T020000Z-00000001"'),
    );
    expect((await verifySnapshot(store, 'tasks')).problems).toEqual([
      `${run.pointer.changes}: "previousRunId" of the change log differs from the snapshot`,
    ]);
  });

  /** Changes a manifest, its checksum and the pointer, as a program that knows the format could. */
  async function resealManifest(
    which: 'snapshot' | 'changes',
    edit: (text: string) => string,
  ): Promise<void> {
    await change(run.pointer[which]!, (body) =>
      encodeWithChecksum(JSON.parse(edit(body.toString())) as { worktrack: object }),
    );
    await withChecksums();
  }
});

describe('a manifest with a good checksum', () => {
  const ODD: readonly [field: string, value: unknown][] = [
    ...[null, 'x', 7, {}, [7], ['x'], [null]].map((value): [string, unknown] => ['parts', value]),
    ...['x', 7, {}, [7], [null]].map((value): [string, unknown] => ['columns', value]),
    ...['warnings', 'previousRuns', 'leftBehind'].flatMap((name) =>
      [null, 'x', 7, {}].map((value): [string, unknown] => [name, value]),
    ),
    ...['counts', 'csv', 'checkpoint'].flatMap((name) =>
      [null, 'x', 7, []].map((value): [string, unknown] => [name, value]),
    ),
  ];

  it.each(ODD)(
    'a manifest with a field of an odd form is damaged, and says which: %s = %j',
    async (field, value) => {
      const key = run.pointer.snapshot;
      const { worktrack, ...rest } = JSON.parse((await store.read(key)).toString()) as { worktrack: object };
      const body = encodeWithChecksum({ ...rest, worktrack: { ...worktrack, [field]: value } });
      expect(() => decodeManifest(body, folderOf(key))).toThrow(DamagedError);
      expect(() => decodeManifest(body, folderOf(key))).toThrow(field);
    },
  );
});
