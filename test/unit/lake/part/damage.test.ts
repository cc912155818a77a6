import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ObjectKey, RunId } from '../../../../src/core/brands.js';
import { noFacts } from '../../../../src/core/value-facts.js';
import { decodeIndex, encodeIndex, indexKey } from '../../../../src/lake/documents/block-index.js';
import type { PublishedPart } from '../../../../src/lake/documents/manifest.js';
import { copyIntactPart, type PartLayout } from '../../../../src/lake/part/copy-part.js';
import { framingOf } from '../../../../src/lake/part/framing.js';
import { readPartRows } from '../../../../src/lake/part/part-rows.js';
import { readPartIndex } from '../../../../src/lake/part/read-index.js';
import { BlockReader } from '../../../../src/lake/part/reader.js';
import { PartSeries } from '../../../../src/lake/part/series.js';
import { writeRows } from '../../../../src/lake/rows/csv.js';
import { headerCells } from '../../../../src/lake/rows/data-columns.js';
import { type ObjectStore, openStore } from '../../../../src/lake/store/index.js';
import { seededRandom } from '../../../support/random.js';
import { publishRun } from '../published.js';

const RUN = '20261121T020000Z-1a2b3c4d' as RunId;
const COLUMNS = [
  { name: 'id', types: 16, values: noFacts() },
  { name: 'note', types: 17, values: noFacts() },
];

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

const layout = (compression: 'gzip' | 'none'): PartLayout => ({
  ...{ key: ['id'], columns: COLUMNS },
  csv: { compression, delimiter: ',', lineBreaks: 'keep' },
});

const COPY = 'tasks/snapshots/dt=2026-11-22/run=copy/part-00000-1a2b3c4d.csv.gz' as ObjectKey;

async function flip(key: ObjectKey, at: number, mask = 1): Promise<void> {
  const body = await store.read(key);
  body[at]! ^= mask;
  await store.write(key, body);
}

async function rowsOf(part: PublishedPart, compression: 'gzip' | 'none'): Promise<string[]> {
  const found: string[] = [];
  for await (const some of readPartRows(store, part, { compression })) found.push(...some);
  return found;
}

describe('A block index', () => {
  it.each(['missing', 'damaged', 'of another part'])(
    'A block index that is %s is not used',
    async (state) => {
      const part = await written('gzip');
      const good = decodeIndex(await store.read(indexKey(part.key)), part.key);
      expect(await readPartIndex(store, part)).toEqual(good);
      if (state === 'missing') await store.remove([indexKey(part.key)]);
      else if (state === 'damaged') await flip(indexKey(part.key), 40);
      else {
        const blocks = [...good.blocks];
        blocks[1] = { ...blocks[1]!, last: blocks[3]!.last };
        await store.write(indexKey(part.key), encodeIndex({ ...good, blocks }));
      }
      expect(await readPartIndex(store, part)).toBeNull();
    },
  );

  it.each<['gzip' | 'none', number]>([
    ['gzip', 400],
    ['gzip', 1],
    ['gzip', 0],
    ['none', 400],
  ])('is new in a copy of its part: %s, %i rows', async (compression, count) => {
    const part = await written(compression, count);
    await store.remove([indexKey(part.key)]);
    const copy = await copyIntactPart(store, part, layout(compression), { to: COPY });
    const { rows, rawBytes, first, last, lineBreaks } = part;
    expect(copy).toMatchObject({ key: COPY, rows, rawBytes, first, last, lineBreaks });
    expect(await rowsOf(copy, compression)).toEqual(await rowsOf(part, compression));
    const { columns, blocks } = (await readPartIndex(store, copy))!;
    expect(columns).toBe(COLUMNS.length);
    const reader = new BlockReader(store, { key: COPY, blocks, framing: framingOf({ compression }) });
    const texts: string[] = [];
    for (const at of blocks.keys()) texts.push(await reader.rows(at));
    expect(texts.join('')).toBe((await rowsOf(part, compression)).join(''));
    const again = await copyIntactPart(store, part, layout(compression), { to: COPY });
    expect(again).toEqual(copy);
  });

  it('is not made for a damaged part: the error names the part and how to recover', async () => {
    const part = await written('gzip');
    await flip(part.key, 500);
    const copying = copyIntactPart(store, part, layout('gzip'), { to: COPY });
    const error = await copying.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'DamagedError' });
    expect(String(error)).toContain(`${part.key} is damaged: its SHA-256 does not match its manifest`);
    expect(String(error)).toContain('worktrack rollback --resource tasks --to RUN');
    expect(await store.head(COPY)).toBeNull();
  });
});

describe('A block of a part', () => {
  it('is never copied into another part if any of its bits has flipped', async () => {
    const part = await written('gzip');
    const { blocks } = (await readPartIndex(store, part))!;
    const good = await store.read(part.key);
    const random = seededRandom(20261121);
    const [first, last] = [blocks[0]!, blocks.at(-1)!];
    for (let tries = 0; tries < 40; tries++) {
      const at = first.offset + random.below(last.offset + last.bytes - first.offset);
      const body = Buffer.from(good);
      body[at]! ^= 1 << random.below(8);
      await store.write(part.key, body);
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
