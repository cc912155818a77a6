import { randomBytes } from 'node:crypto';
import { truncate } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { noFacts } from '../../../src/core/value-facts.js';
import { folderOf } from '../../../src/lake/documents/lake-layout.js';
import type { Manifest } from '../../../src/lake/documents/manifest.js';
import { decodeManifest } from '../../../src/lake/documents/manifest.js';
import { readRows, rowTexts } from '../../../src/lake/published/read-rows.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import { NEW_RUN, temporaryLake } from './data-plane.js';
import { publishRun } from './published.js';

describe('The rows of a published tree', () => {
  const lake = temporaryLake();
  let resources = 0;

  async function publish(parts: (string | null)[][][], compression: 'gzip' | 'none'): Promise<Manifest> {
    const columns = [
      { name: 'id', types: 0, values: noFacts() },
      { name: 'text', types: 0, values: noFacts() },
    ];
    const { pointer } = await publishRun(lake.store, {
      resource: `rows-${resources++}`,
      runId: NEW_RUN,
      date: '2026-11-21',
      columns,
      parts,
      csv: { compression },
    });
    return decodeManifest(await lake.store.read(pointer.snapshot), folderOf(pointer.snapshot));
  }

  async function take<T>(all: AsyncIterable<T>, limit = Number.POSITIVE_INFINITY): Promise<T[]> {
    const taken: T[] = [];
    for await (const one of all) {
      taken.push(one);
      if (taken.length >= limit) break;
    }
    return taken;
  }

  it.each(['gzip', 'none'] as const)(
    'come from all parts in order, without their headers (%s)',
    async (kind) => {
      const parts = [
        [['a', 'x\n"y",\r']],
        [['b', '']],
        [
          ['c', null],
          ['d', 'ü😀'],
        ],
      ];
      const rows = await take(readRows(lake.store, await publish(parts, kind)));
      expect(rows.map((row) => row.slice(3))).toEqual(parts.flat());
    },
  );

  it.each(['gzip', 'none'] as const)(
    'are not read beyond the row where the caller stops (%s)',
    async (kind) => {
      const text = (): string => randomBytes(3000).toString('hex');
      const part = Array.from({ length: 500 }, (_, at) => [String(at).padStart(4, '0'), text()]);
      const manifest = await publish([part, [['9999', 'second part']]], kind);
      let bytes = 0;
      const opened: string[] = [];
      const counting = {
        async *stream(key) {
          opened.push(key);
          for await (const chunk of lake.store.stream(key)) {
            bytes += chunk.length;
            yield chunk;
          }
        },
      } as Pick<ObjectStore, 'stream'> as ObjectStore;
      expect((await take(rowTexts(counting, manifest), 5)).length).toBe(5);
      expect(opened).toEqual([manifest.parts[0]!.key]);
      expect(manifest.parts[0]!.bytes).toBeGreaterThan(1_000_000);
      expect(bytes).toBeLessThan(manifest.parts[0]!.bytes / 3);
    },
  );

  it.each(['gzip', 'none'] as const)('end with an error that names a truncated part (%s)', async (kind) => {
    const manifest = await publish([[['a', 'x'.repeat(100)]]], kind);
    const { key, bytes } = manifest.parts[0]!;
    await truncate(lake.pathOf(key), bytes - 12);
    await expect(take(rowTexts(lake.store, manifest))).rejects.toMatchObject({
      name: 'DamagedError',
      message: expect.stringContaining(key),
    });
  });
});
