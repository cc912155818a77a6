import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ByteString, ObjectKey } from '../../../../src/core/brands.js';
import { DamagedError } from '../../../../src/lake/damaged-error.js';
import {
  decodeIndex,
  encodeIndex,
  indexKey,
  type PartIndex,
} from '../../../../src/lake/documents/block-index.js';
import type { PublishedPart } from '../../../../src/lake/documents/manifest.js';
import { framingOf } from '../../../../src/lake/part/framing.js';
import { BLOCK_BYTES, PartWriter, type RowRun } from '../../../../src/lake/part/part-writer.js';
import { BlockReader, releaseBlocks } from '../../../../src/lake/part/reader.js';
import { PartSeries } from '../../../../src/lake/part/series.js';
import { type Cell, writeRows } from '../../../../src/lake/rows/csv.js';
import type { SortKey } from '../../../../src/lake/rows/row.js';
import { MAX_BLOCK_BYTES } from '../../../../src/lake/size-limits.js';
import { crc32, crc32ToHex } from '../../../../src/lake/store/crc32.js';
import type { ObjectStore } from '../../../../src/lake/store/index.js';
import { rounds } from '../../../support/seeds.js';
import { anyCell, bytes, readIndex, temporaryLake } from '../data-plane.js';

const lake = temporaryLake();
const HEADER = bytes('id,v\n');
const gzip = framingOf({ compression: 'gzip' });
const plain = framingOf({ compression: 'none' });

const sorted = (text: string): SortKey => text as SortKey;
const keyAt = (at: number): SortKey => sorted(String(at).padStart(6, '0'));

/** Texts of blocks, made into runs of one row with ascending keys. */
function runsOf(texts: readonly string[]): RowRun[] {
  return texts.map((text, at) => ({ text: bytes(text), rows: 1, first: keyAt(at), last: keyAt(at) }));
}

async function write(runs: readonly RowRun[], framing = gzip, key = lake.newKey(framing.extension)) {
  const writer = new PartWriter(lake.store, key, { framing, header: HEADER, columns: 1 });
  for (const run of runs) await writer.append(run);
  return writer.finish();
}

/** One member and nothing behind it: header, deflate stream, CRC-32 and length (RFC 1952). */
function membersOf(file: Buffer): number {
  let members = 0;
  for (let rest = file; rest.length > 0; members++) {
    let end = 18;
    // The shortest prefix that unpacks alone is the first member.
    for (; end <= rest.length; end++) {
      try {
        gunzipSync(rest.subarray(0, end));
        break;
      } catch {}
    }
    rest = rest.subarray(end);
  }
  return members;
}

const anyTexts = fc.array(
  fc.oneof(
    fc.string({ minLength: 1, maxLength: 20 }),
    fc
      .tuple(fc.string({ minLength: 1, maxLength: 5 }), fc.integer({ min: 100, max: 40_000 }))
      .map(([text, n]) => text.repeat(n).slice(0, 100_000)),
  ),
  { maxLength: 12 },
);

describe('A part', () => {
  it('contains the header and the rows in order, however they are split into blocks, and reports matching checksums', async () => {
    await fc.assert(
      fc.asyncProperty(anyTexts, fc.constantFrom(gzip, plain), async (texts, framing) => {
        const part = await write(runsOf(texts), framing);
        const file = await lake.store.read(part.key);
        const raw = framing === gzip ? gunzipSync(file) : file;
        const expected = Buffer.from(HEADER + texts.map(bytes).join(''), 'latin1');
        expect(raw.equals(expected)).toBe(true);
        expect(part).toMatchObject({
          rows: texts.length,
          bytes: file.length,
          rawBytes: expected.length,
          crc32: crc32ToHex(crc32(file)),
          first: texts.length === 0 ? null : keyAt(0),
          last: texts.length === 0 ? null : keyAt(texts.length - 1),
        });
        if (framing === gzip) {
          expect(file.readUInt32LE(file.length - 8)).toBe(crc32(expected));
          expect(file.readUInt32LE(file.length - 4)).toBe(expected.length);
        }
      }),
      { numRuns: rounds(40) },
    );
  });

  it.each([
    ['gzip', gzip],
    ['plain', plain],
  ] as const)(
    'has its own rows while others are written side by side, whose blocks use the same buffers: %s',
    async (_, framing) => {
      const texts = [1, 2, 3].map((part) =>
        Array.from({ length: 40 }, (__, at) => `${part}-${at},`.repeat(100 + ((at * 7919 * part) % 20_000))),
      );
      const scattered = (text: string) => ({
        bytes: text.length,
        fill: (into: Buffer) => void into.write(text, 'latin1'),
      });
      const parts = await Promise.all(
        texts.map((some, part) =>
          write(
            runsOf(some).map((run) => (part === 0 ? { ...run, text: scattered(run.text as string) } : run)),
            framing,
          ),
        ),
      );
      for (const [at, { key }] of parts.entries()) {
        const file = await lake.store.read(key);
        expect((framing === gzip ? gunzipSync(file) : file).toString('latin1')).toBe(
          HEADER + texts[at]!.join(''),
        );
      }
    },
  );

  it('is one gzip member that gzip accepts', async () => {
    const part = await write(runsOf(['a\n', 'b'.repeat(300), 'é\n']));
    const file = await lake.store.read(part.key);
    expect(membersOf(file)).toBe(1);
    execFileSync('gzip', ['-t'], { input: file, stdio: ['pipe', 'ignore', 'pipe'] });
    expect(execFileSync('gzip', ['-dc'], { input: file }).toString('utf8')).toBe(
      `id,v\na\n${'b'.repeat(300)}é\n`,
    );
  });

  it('contains no time and no name, so equal rows give equal bytes, including the index', async () => {
    const runs = runsOf(['a,1\n', 'b,2\n']);
    const [one, two] = [await write(runs), await write(runs)];
    expect(one.sha256).toBe(two.sha256);
    const [first, second] = [
      await lake.store.read(indexKey(one.key)),
      await lake.store.read(indexKey(two.key)),
    ];
    expect(first.equals(second)).toBe(true);
    expect((await lake.store.read(one.key)).subarray(0, 10).toString('hex')).toBe('1f8b08000000000000ff');
  });

  it('copied from packed blocks is byte for byte the part that the rows would make', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyTexts,
        fc.infiniteStream(fc.boolean()),
        fc.constantFrom(gzip, plain),
        async (texts, moved, framing) => {
          const runs = runsOf(texts);
          const source = await write(runs, framing);
          const { blocks } = await readIndex(lake.store, source.key);
          const reader = new BlockReader(
            lake.store,
            { key: source.key, blocks, framing },
            { batchBytes: 1000 },
          );
          const writer = new PartWriter(lake.store, lake.newKey(framing.extension), {
            framing,
            header: HEADER,
            columns: 1,
          });
          for (let at = 0; at < runs.length; ) {
            if (moved.next().value) {
              const taken = await reader.packedBlocks(at, () => moved.next().value);
              await writer.take(taken);
              // Others may use the memory now.
              for (const one of taken.bytes) one.fill(0);
              at += taken.blocks.length;
            } else {
              await writer.append(runs[at++]!);
            }
          }
          const copy = await writer.finish();
          expect({ ...copy, key: null }).toEqual({ ...source, key: null });
          expect(await readIndex(lake.store, copy.key)).toEqual({ columns: 1, blocks });
        },
      ),
      { numRuns: rounds(25) },
    );
  });

  it('rejects a repeated key and a key that is less than the one before', async () => {
    const run = (first: string, last: string): RowRun => ({
      text: bytes('x\n'),
      rows: 1,
      first: sorted(first),
      last: sorted(last),
    });
    for (const [first, last] of [
      ['b', 'c'],
      ['a', 'd'],
      ['0', '1'],
    ] as const) {
      const writer = new PartWriter(lake.store, lake.newKey(), { framing: gzip, header: HEADER, columns: 1 });
      await writer.append(run('a', 'b'));
      await expect(writer.append(run(first, last))).rejects.toThrow('out of order');
      await writer.abort();
    }
    const writer = new PartWriter(lake.store, lake.newKey(), { framing: gzip, header: HEADER, columns: 1 });
    await writer.append(run('a', 'b'));
    await writer.append(run('b\0', 'c'));
    expect((await writer.finish()).rows).toBe(2);
  });

  it('does not exist after an abort', async () => {
    const key = lake.newKey();
    const writer = new PartWriter(lake.store, key, { framing: gzip, header: HEADER, columns: 1 });
    for (const run of runsOf(new Array(20).fill('x\n'))) await writer.append(run);
    await writer.abort();
    expect(await lake.store.head(key)).toBeNull();
    expect(await lake.store.head(indexKey(key))).toBeNull();
  });

  it('A part that cannot be completed fails only when the write of its index has ended', async () => {
    let hasIndex = false;
    const failing = {
      openWriter: () => ({ write: async () => {}, finish: () => Promise.reject(new Error('no network')) }),
      async write(...args: Parameters<ObjectStore['write']>) {
        const written = await lake.store.write(...args);
        hasIndex = true;
        return written;
      },
    } as unknown as ObjectStore;
    const writer = new PartWriter(failing, lake.newKey(), { framing: gzip, header: HEADER, columns: 1 });
    await expect(writer.finish()).rejects.toThrow('no network');
    expect(hasIndex).toBe(true);
  });

  it('has no index if none is requested', async () => {
    const key = lake.newKey();
    await new PartWriter(lake.store, key, {
      framing: gzip,
      header: HEADER,
      columns: 1,
      index: 'none',
    }).finish();
    expect(await lake.store.head(indexKey(key))).toBeNull();
    expect(gunzipSync(await lake.store.read(key)).toString()).toBe(HEADER);
  });
});

describe('The index of a part', () => {
  it('round-trips, whatever bytes are in the keys', () => {
    const anyKey = fc
      .string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) })
      .map(sorted);
    const block = fc.record({
      first: anyKey,
      last: anyKey,
      rows: fc.nat(),
      offset: fc.maxSafeNat(),
      bytes: fc.nat(MAX_BLOCK_BYTES),
      rawBytes: fc.nat(MAX_BLOCK_BYTES),
      rawCrc32: fc.nat(0xffffffff),
      crc32: fc.nat(0xffffffff),
      lineBreaks: fc.nat(),
    });
    const anyPart = 'tasks/part-00000-1a2b3c4d.csv.gz' as ObjectKey;
    const index: fc.Arbitrary<PartIndex> = fc.record({ columns: fc.nat(), blocks: fc.array(block) });
    fc.assert(
      fc.property(index, (value) => {
        expect(decodeIndex(encodeIndex(value), anyPart)).toEqual(value);
      }),
    );
  });

  it.each([
    ['a/b/part-00003-1a2b3c4d.csv.gz', 'a/b/_part-00003-1a2b3c4d.index.json'],
    ['a/part-00000-00000000.csv', 'a/_part-00000-00000000.index.json'],
  ])('The index of a part of %s is %s', (part, index) => {
    expect(indexKey(part as ObjectKey)).toBe(index);
  });
});

describe('Reading blocks', () => {
  const texts = Array.from({ length: 12 }, (_, at) => `row ${at}`.repeat(at + 1));

  it('returns the rows of each block, with requests of any size, whichever blocks are skipped', async () => {
    for (const framing of [gzip, plain]) {
      const { key } = await write(runsOf(texts), framing);
      const { blocks } = await readIndex(lake.store, key);
      await fc.assert(
        fc.asyncProperty(
          fc.subarray([...texts.keys()]),
          fc.integer({ min: 1, max: 400 }),
          async (wanted, batchBytes) => {
            const reader = new BlockReader(lake.store, { key, blocks, framing }, { batchBytes });
            for (const at of wanted) expect(await reader.rows(at)).toBe(texts[at]);
          },
        ),
        { numRuns: rounds(40) },
      );
    }
  });

  it('detects any changed byte of a block', async () => {
    for (const framing of [gzip, plain]) {
      const { key } = await write(runsOf(['id,1\nid,2\n', 'id,3\nid,4\nid,5\n']), framing);
      const { blocks } = await readIndex(lake.store, key);
      const good = await lake.store.read(key);
      const { offset, bytes: length } = blocks[1]!;
      for (let at = offset; at < offset + length; at++) {
        const bad = Buffer.from(good);
        bad[at]! ^= 0x10;
        const damaged = lake.newKey(framing.extension);
        await lake.store.write(damaged, bad);
        const reader = new BlockReader(lake.store, { key: damaged, blocks, framing }, { batchBytes: 1000 });
        expect(await reader.rows(0)).toBe('id,1\nid,2\n');
        await expect(reader.rows(1)).rejects.toThrow(
          `${damaged} is damaged: the block at byte ${offset} does not match the CRC32`,
        );
      }
    }
  });

  it('is read with memory for a few blocks, whatever its size', async () => {
    const texts = Array.from({ length: 200 }, (_, at) => `${at}${'v'.repeat(BLOCK_BYTES)}\n`);
    const { key } = await write(runsOf(texts), plain);
    const { blocks } = await readIndex(lake.store, key);
    const reader = new BlockReader(
      lake.store,
      { key, blocks, framing: plain },
      { batchBytes: 4 * BLOCK_BYTES },
    );
    const used = new Set<ArrayBufferLike>();
    for (let at = 0; at < 200; at += 2) {
      expect(await reader.rows(at)).toBe(texts[at]);
      const taken = await reader.packedBlocks(at + 1, () => false);
      expect(taken.bytes[0]!.toString()).toBe(texts[at + 1]);
      used.add(taken.bytes[0]!.buffer);
      releaseBlocks(taken);
    }
    expect(used.size).toBeLessThan(20);
  });

  it('detects an object that is shorter than its index says', async () => {
    const { key } = await write(runsOf(texts), plain);
    const { blocks } = await readIndex(lake.store, key);
    const short = lake.newKey('.csv');
    await lake.store.write(short, (await lake.store.read(key)).subarray(0, -1));
    const reader = new BlockReader(lake.store, { key: short, blocks, framing: plain }, { batchBytes: 50 });
    await expect(reader.rows(texts.length - 1)).rejects.toThrow('is damaged');
    // Those that are moved are never unpacked.
    const moved = new BlockReader(
      lake.store,
      { key: short, blocks, framing: plain },
      { batchBytes: 1_000_000 },
    );
    await expect(moved.packedBlocks(0, () => true)).rejects.toThrow('shorter than its index says');
  });
});

describe('A series of parts', () => {
  const series = (maxParts: number, partBytes: number, keys: ObjectKey[] = []) =>
    new PartSeries(lake.store, {
      framing: gzip,
      header: HEADER,
      columns: 1,
      maxParts,
      partBytes,
      partKey: (n) => {
        keys[n] = lake.newKey();
        return keys[n];
      },
    });

  it('has every row once, in order, in at most as many parts as allowed, all but the last at least of the wanted size', async () => {
    const row = bytes(`${'x'.repeat(999)}\n`);
    for (const [rows, maxParts, partBytes] of [
      [500, 3, 100_000],
      [500, 100, 70_000],
      [10, 5, 1],
      [300, 1, 1],
      [131, 2, BLOCK_BYTES],
    ] as const) {
      const out = series(maxParts, partBytes);
      for (let at = 0; at < rows; at++) {
        out.add(keyAt(at), row);
        if (at % 7 === 0) await out.flush();
      }
      const parts = await out.finish();
      expect(parts.reduce((sum, part) => sum + part.rows, 0)).toBe(rows);
      expect(parts.length).toBeLessThanOrEqual(maxParts);
      for (const part of parts.slice(0, -1)) expect(part.rawBytes).toBeGreaterThanOrEqual(partBytes);
      expect(parts.map(({ first }) => first)).toEqual([...parts.map(({ first }) => first)].sort());
      expect(parts.at(-1)!.last).toBe(keyAt(rows - 1));
      if (maxParts === 100) expect(parts.length).toBeGreaterThan(3);
    }
  });

  it('keeps rows and packed blocks in the order that they came', async () => {
    const source = await write(runsOf(['b\n', 'd\n']));
    const { blocks } = await readIndex(lake.store, source.key);
    const reader = new BlockReader(lake.store, { key: source.key, blocks, framing: gzip });
    const named = async (at: number, key: string) => ({
      blocks: [{ ...blocks[at]!, first: sorted(key), last: sorted(key) }],
      bytes: (await reader.packedBlocks(at, () => false)).bytes,
      framing: gzip,
    });
    const out = series(1, 1);
    out.add(sorted('a'), bytes('a\n'));
    await out.take(await named(0, 'b'));
    out.add(sorted('c'), bytes('c\n'));
    await out.take(await named(1, 'd'));
    out.add(sorted('e'), bytes('e\n'));
    const [part] = await out.finish();
    expect(gunzipSync(await lake.store.read(part!.key)).toString()).toBe('id,v\na\nb\nc\nd\ne\n');
  });

  it('is the same whether its rows are packed or its blocks are copied', async () => {
    const texts = Array.from({ length: 40 }, (_, at) => `${at},${'v'.repeat(100 + at)}\n`);
    const source = await write(runsOf(texts));
    const { blocks } = await readIndex(lake.store, source.key);
    for (const [maxParts, partBytes] of [
      [100, 700],
      [3, 700],
      [1, 1],
    ] as const) {
      const [packed, moved] = [series(maxParts, partBytes), series(maxParts, partBytes)];
      for (let at = 0; at < 40; at++) {
        const reader = new BlockReader(lake.store, { key: source.key, blocks, framing: gzip });
        await packed.take(await reader.packedBlocks(at, () => false));
      }
      const reader = new BlockReader(
        lake.store,
        { key: source.key, blocks, framing: gzip },
        { batchBytes: 1_000_000 },
      );
      for (const [from, to] of [
        [0, 17],
        [17, 40],
      ] as const) {
        let wanted = to - from - 1;
        const taken = await reader.packedBlocks(from, () => wanted-- > 0);
        expect(taken.blocks.length).toBe(to - from);
        await moved.take(taken);
      }
      const unnamed = (parts: PublishedPart[]) => parts.map((part) => ({ ...part, key: null }));
      const parts = await moved.finish();
      expect(unnamed(parts)).toEqual(unnamed(await packed.finish()));
      expect(parts.length).toBe(Math.min(maxParts, 7));
    }
  });

  it('rejects rows in another form that do not match the checksum in their index', async () => {
    const source = await write(runsOf(['a\n', 'b\n']), plain);
    const { blocks } = await readIndex(lake.store, source.key);
    const wrong = blocks.map((block) => ({ ...block, rawCrc32: block.rawCrc32 ^ 1 }));
    const reader = new BlockReader(
      lake.store,
      { key: source.key, blocks: wrong, framing: plain },
      { batchBytes: 1_000_000 },
    );
    const out = series(1, 1e9);
    const taken = await reader.packedBlocks(0, () => true);
    await expect(out.take(taken).then(() => out.finish())).rejects.toThrow(DamagedError);
    await out.abort();
  });

  it('compresses blocks that are copied from an uncompressed chunk', async () => {
    const texts = Array.from({ length: 40 }, (_, at) => `${at},"${'v'.repeat(100 + at)}\n"\n`);
    const [source, chunk] = await Promise.all([write(runsOf(texts)), write(runsOf(texts), plain)]);
    const unnamed = (parts: PublishedPart[]) => parts.map((part) => ({ ...part, key: null }));
    const copied = async ({ key }: PublishedPart, framing: typeof gzip) => {
      const { blocks } = await readIndex(lake.store, key);
      const reader = new BlockReader(lake.store, { key, blocks, framing }, { batchBytes: 1_000_000 });
      const out = series(1, 1e9);
      const taken = await reader.packedBlocks(0, () => true);
      await out.take(taken);
      for (const one of taken.bytes) one.fill(0);
      return unnamed(await out.finish());
    };
    expect(await copied(chunk, plain)).toEqual(await copied(source, gzip));
  });

  it('A series of parts without rows has no part, and writes nothing', async () => {
    const keys: ObjectKey[] = [];
    expect(await series(3, 1, keys).finish()).toEqual([]);
    expect(keys).toEqual([]);
  });

  it('A series of parts that is aborted does not complete the open part', async () => {
    const keys: ObjectKey[] = [];
    const out = series(9, 1e9, keys);
    for (let at = 0; at < 200; at++) out.add(keyAt(at), bytes('x'.repeat(1000)));
    await out.flush();
    await out.abort();
    expect(keys).toHaveLength(1);
    expect(await lake.store.head(keys[0]!)).toBeNull();
  });
});

describe('Another reader', () => {
  it('DuckDB reads the same rows, and distinguishes null from the empty string', async () => {
    const connection = await (await DuckDBInstance.create()).connect();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(anyCell, anyCell), { minLength: 1, maxLength: 60 }),
        async (cells) => {
          const table: Cell[][] = cells.map((row, at) => [bytes(String(at)), ...row]);
          // DuckDB's strings may hold NUL, its CSV reader may not.
          fc.pre(!table.flat().some((cell) => cell?.includes('\0')));
          const key = lake.newKey();
          const writer = new PartWriter(lake.store, key, {
            framing: gzip,
            header: bytes('id,a,b\n'),
            columns: 3,
          });
          for (const [at, row] of table.entries()) {
            await writer.append({ text: writeRows([row], ','), rows: 1, first: keyAt(at), last: keyAt(at) });
          }
          await writer.finish();
          const columns = `{'id': 'VARCHAR', 'a': 'VARCHAR', 'b': 'VARCHAR'}`;
          const found = await connection.runAndReadAll(
            `SELECT encode(id), encode(a), encode(b) FROM read_csv('${lake.pathOf(key)}', columns = ${columns}, auto_detect = false,
             header = true, delim = ',', quote = '"', escape = '"', new_line = '\\n', nullstr = '', allow_quoted_nulls = false)`,
          );
          const rows = found
            .getRows()
            .map((row) => row.map((cell) => (cell === null ? null : blobText(cell))));
          expect(rows).toEqual(table);
        },
      ),
      { numRuns: rounds(30) },
    );
    connection.closeSync();
  });
});

function blobText(cell: unknown): ByteString {
  return Buffer.from((cell as { bytes: Uint8Array }).bytes).toString('latin1') as ByteString;
}

describe('Plain parts', () => {
  it('are the CSV text itself', async () => {
    const { key } = await write(runsOf(['a,"x\ny"\n']), plain);
    expect(readFileSync(lake.pathOf(key), 'utf8')).toBe('id,v\na,"x\ny"\n');
  });
});
