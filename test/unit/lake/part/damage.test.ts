import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../../src/core/brands.js';
import { noFacts } from '../../../../src/core/value-facts.js';
import { framingOf } from '../../../../src/lake/part/framing.js';
import { decodeIndex, encodeIndex, indexKey } from '../../../../src/lake/part/index-file.js';
import { readPartIndex } from '../../../../src/lake/part/read-index.js';
import { BlockReader } from '../../../../src/lake/part/reader.js';
import { rebuildIndex } from '../../../../src/lake/part/rebuild-index.js';
import { PartSeries } from '../../../../src/lake/part/series.js';
import type { PublishedPart } from '../../../../src/lake/published/manifest.js';
import { writeRows } from '../../../../src/lake/rows/csv.js';
import { headerCells } from '../../../../src/lake/rows/schema.js';
import { type ObjectStore, openStore } from '../../../../src/lake/store/index.js';
import { seededRandom } from '../../../support/random.js';
import { publishRun } from '../published.js';

const RUN = '20261121T020000Z-1a2b3c4d' as RunId;
const COLUMNS = [
  { name: 'id', types: 16, values: noFacts() },
  { name: 'note', types: 17, values: noFacts() },
];
const BINARY = { contentType: 'application/octet-stream' };

let folder: string;
let store: ObjectStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-damage-'));
  store = openStore({ url: pathToFileURL(folder).href });
});
afterEach(async () => {
  store.close();
  await rm(folder, { recursive: true, force: true });
});

/** Rows with quotes, line breaks and bytes that look like the end of a packed block. */
function rows(count: number): (string | null)[][] {
  const random = seededRandom(7);
  const note = () =>
    Array.from({ length: random.below(300) }, () =>
      random.pick(['a', '"', '\n', ',', '\0\0ÿÿ', 'é', '7']),
    ).join('');
  return Array.from({ length: count }, (_, n) => [`k${String(n).padStart(5, '0')}`, note()]);
}

async function written(compression: 'gzip' | 'none', count = 400): Promise<PublishedPart> {
  const { parts } = await publishRun(store, {
    ...{ resource: 'tasks', runId: RUN, date: '2026-11-21', columns: COLUMNS, parts: [rows(count)] },
    ...{ csv: { compression }, blockRows: 23 },
  });
  return parts[0]!;
}

const layout = (compression: 'gzip' | 'none') => ({ csv: { compression, delimiter: ',' }, keyColumns: 1 });

async function flip(key: ObjectKey, at: number, mask = 1): Promise<void> {
  const body = await store.read(key);
  body[at]! ^= mask;
  await store.write(key, body, BINARY);
}

describe('A block index', () => {
  it('is rebuilt from its part, byte for byte', async () => {
    const part = await written('gzip');
    const body = await store.read(indexKey(part.key));
    expect(encodeIndex(await rebuildIndex(store, part, layout('gzip')))).toEqual(body);
  });

  it.each([0, 1])('is rebuilt from a part of %i rows', async (count) => {
    const part = await written('gzip', count);
    const body = await store.read(indexKey(part.key));
    expect(encodeIndex(await rebuildIndex(store, part, layout('gzip')))).toEqual(body);
  });

  it('is rebuilt from an uncompressed part: its blocks hold the same rows', async () => {
    const part = await written('none');
    const index = await rebuildIndex(store, part, layout('none'));
    const { columns, blocks } = decodeIndex(await store.read(indexKey(part.key)));
    expect(index.columns).toBe(columns);
    expect(index.blocks[0]).toMatchObject({ first: part.first, offset: blocks[0]!.offset });
    expect(index.blocks.at(-1)!.last).toBe(part.last);
    expect(index.blocks.reduce((sum, block) => sum + block.rows, 0)).toBe(part.rows);
  });

  it.each(['missing', 'damaged', 'of another part'])(
    'that is %s is replaced by one rebuilt from its part',
    async (state) => {
      const part = await written('gzip');
      const good = decodeIndex(await store.read(indexKey(part.key)));
      if (state === 'missing') await store.remove([indexKey(part.key)]);
      else if (state === 'damaged') await flip(indexKey(part.key), 40);
      else {
        const blocks = [...good.blocks];
        blocks[1] = { ...blocks[1]!, last: blocks[3]!.last };
        await store.write(indexKey(part.key), encodeIndex({ ...good, blocks }), BINARY);
      }
      expect(await readPartIndex(store, part, layout('gzip'))).toEqual(good);
    },
  );

  it('is not rebuilt from a damaged part: the error names the part and how to recover', async () => {
    const part = await written('gzip');
    await store.remove([indexKey(part.key)]);
    await flip(part.key, 500);
    const error = await readPartIndex(store, part, layout('gzip')).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'DamagedError' });
    expect(String(error)).toContain(`${part.key} is damaged: its SHA-256 does not match its manifest`);
    expect(String(error)).toContain('worktrack rollback --resource tasks --to RUN');
  });
});

describe('A block of a part', () => {
  it('is never copied into another part if any of its bits has flipped', async () => {
    const part = await written('gzip');
    const { blocks } = await readPartIndex(store, part, layout('gzip'));
    const good = await store.read(part.key);
    const random = seededRandom(20261121);
    const [first, last] = [blocks[0]!, blocks.at(-1)!];
    for (let tries = 0; tries < 40; tries++) {
      const at = first.offset + random.below(last.offset + last.bytes - first.offset);
      const body = Buffer.from(good);
      body[at]! ^= 1 << random.below(8);
      await store.write(part.key, body, BINARY);
      const reader = new BlockReader(
        store,
        { key: part.key, blocks, framing: framingOf(layout('gzip').csv) },
        { batchBytes: 5000 },
      );
      const series = new PartSeries(store, {
        ...{ framing: framingOf(layout('gzip').csv), columns: 2, maxParts: 1, partBytes: 1e9 },
        header: writeRows([headerCells(COLUMNS)], ','),
        partKey: () => `tasks/moved/part-00000-${tries}.csv.gz` as ObjectKey,
      });
      const move = async (): Promise<void> => {
        for (let next = 0; next < blocks.length; ) {
          const taken = await reader.packedBlocks(next, () => true);
          await series.take(taken);
          next += taken.blocks.length;
        }
        await series.finish();
      };
      await expect(move(), `bit flip at byte ${at}`).rejects.toThrow(`${part.key} is damaged: the block`);
      await series.abort();
    }
  });
});
