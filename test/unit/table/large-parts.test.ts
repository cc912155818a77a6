import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { useEngine } from '../../../src/table/parquet/engine.js';
import type { PartColumn } from '../../../src/table/parquet/part-file.js';
import type { ColumnType, ValueClass } from '../../../src/table/rules/column-type.js';
import { readParquet } from '../../support/read-parquet.js';
import { longOnly } from '../../support/seeds.js';
import { CSV } from '../lake/published.js';

const MiB = 1024 ** 2;

/** Columns of a wide part, in turn. */
const KINDS: readonly (readonly [ValueClass, ColumnType, (row: number, at: number) => [string, unknown]])[] =
  [
    ['integer', 'long', (row, at) => [`${row * at}`, BigInt(row * at)]],
    [
      'number',
      'decimal(18,2)',
      (row, at) => [`${(row * at) % 1000}.25`, BigInt(((row * at) % 1000) * 100 + 25)],
    ],
    ['string', 'string', (row, at) => [`name ${(row * 31 + at) % 997}`, `name ${(row * 31 + at) % 997}`]],
    [
      'string',
      'timestamp',
      (row, at) => {
        const time = new Date(1.7e12 + row * 61_000 + at);
        return [time.toISOString(), BigInt(time.getTime()) * 1000n];
      },
    ],
    ['boolean', 'boolean', (row) => [String(row % 2 === 0), row % 2 === 0]],
    ['string', 'empty', () => ['', undefined]],
  ];
const kindOf = (at: number) => KINDS[at % KINDS.length]!;

/** Converts a text in the process of conversions. @returns also the peak of its resident memory in MiB (Linux) */
function convert(text: Buffer, rows: number, columns: readonly PartColumn[]) {
  return useEngine({}, async ({ folder, ask }) => {
    const [path, to] = [join(folder, 'part'), join(folder, 'file.parquet')];
    await writeFile(path, text);
    const csv = { ...CSV, compression: 'none' } as const;
    const { types } = await ask('convert', {
      ...{ part: { path, rows, rawBytes: text.length, csv, columns }, to },
      codec: 'zstd',
    });
    return { types, file: await readFile(to), peakMiB: await peakOfChild() };
  });
}

async function peakOfChild(): Promise<number> {
  const threads = await readdir('/proc/self/task');
  const lists = threads.map((thread) => readFile(`/proc/self/task/${thread}/children`, 'utf8'));
  const pids = (await Promise.all(lists)).join(' ').trim().split(/\s+/);
  const states = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/status`, 'utf8')));
  return Math.max(...states.map((state) => Number(/VmHWM:\s+(\d+)/.exec(state)![1]) / 1024));
}

// convert-text.test.ts has 200 columns and cells of 8 MB.
describe('a part that is much larger than others', { timeout: 600_000 }, () => {
  longOnly.each([
    [1000, 150],
    [2000, 160],
    [5000, 200],
    [10_000, 250],
  ])('has every value of %i columns, with at most %i MiB of memory', async (width, mostMiB) => {
    const all = Array.from({ length: width }, (_, at) => at);
    const lines = [all.map((at) => `f${at}`).join(',')];
    for (let bytes = 0; bytes < 16 * MiB; bytes += lines.at(-1)!.length)
      lines.push(all.map((at) => kindOf(at)[2](lines.length, at)[0]).join(','));
    const columns = all.map((at) => {
      return { alias: `f${at}`, kind: kindOf(at)[0], type: 'empty', fixed: false } as const;
    });
    const text = Buffer.from(`${lines.join('\n')}\n`);
    const { types, file, peakMiB } = await convert(text, lines.length - 1, columns);
    console.log(`${width} columns: ${peakMiB.toFixed(0)} MiB`);
    expect(types).toEqual(all.map((at) => kindOf(at)[1]));
    const { rows } = await readParquet(file);
    expect(rows.length).toBe(lines.length - 1);
    const wrong = rows.flatMap((row, index) =>
      all.filter((at) => (row[`f${at}`] ?? undefined) !== kindOf(at)[2](index + 1, at)[1]),
    );
    expect(wrong.slice(0, 5)).toEqual([]);
    expect(peakMiB).toBeLessThan(mostMiB);
  });

  longOnly.each([8, 60])('has a cell of %i MB between others', async (megabytes) => {
    const cell = 'ab"\n'.repeat(megabytes * 250_000);
    const text = Buffer.from(`a,b\n1,x\n2,"${cell.replaceAll('"', '""')}"\n3,y\n`);
    const columns = ['a', 'b'].map((alias) => {
      return { alias, kind: alias === 'a' ? 'integer' : 'string', type: 'empty', fixed: false } as const;
    });
    const { file, peakMiB } = await convert(text, 3, columns);
    console.log(`${megabytes} MB: ${peakMiB.toFixed(0)} MiB`);
    const { rows } = await readParquet(file);
    expect(rows.map(({ a }) => a)).toEqual([1n, 2n, 3n]);
    expect(rows.map(({ b }) => (b === cell ? 'the cell' : b))).toEqual(['x', 'the cell', 'y']);
  });
});
