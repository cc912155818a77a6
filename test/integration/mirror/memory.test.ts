import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { RUN } from '../../unit/activities/run.js';

const built = (path: string) => JSON.stringify(new URL(`../../../dist/${path}`, import.meta.url).href);

/** Reads 1,000 pages of 100 KB. Each leaves one short row. */
const READ = `
  const { PageReader } = await import(${built('src/run/read/page-reader.js')});
  const { RowBuffer } = await import(${built('src/lake/chunk/row-buffer.js')});
  const reader = new PageReader(${JSON.stringify(RUN)}, []);
  const all = new RowBuffer();
  for (let at = 0; at < 1000; at++) {
    const data = [{ id: 'a key of more than a few letters ' + at, left: 1 }];
    const page = await reader.read(JSON.stringify({ data, page: { nextCursor: null }, more: 'x'.repeat(100_000) }));
    all.addAll(page.rows);
    reader.release(page);
  }
  if (all.rows !== 1000) throw new Error('rows are missing');
`;

/** Writes 2,000 blocks, each cut from a separate text of 100 KB, into a store that keeps nothing. */
const WRITE = `
  const { PartWriter } = await import(${built('src/lake/part/part-writer.js')});
  const { framingOf } = await import(${built('src/lake/part/framing.js')});
  const gone = { write: async () => {}, finish: async () => ({}), abort: async () => {}, bytes: 0 };
  const store = { openWriter: () => gone, write: async () => ({}) };
  const writer = new PartWriter(store, 'part.csv', { framing: framingOf({ compression: 'none' }), header: 'id\\n', columns: 1 });
  for (let at = 0; at < 2000; at++) {
    const text = Buffer.alloc(100_000, String(1_000_000 + at) + 'abcdefghijklmnop,').toString('latin1');
    await writer.append({ text: text.slice(0, 100), rows: 1, first: text.slice(0, 20), last: text.slice(0, 20) });
  }
  const { rows } = await writer.finish();
  if (rows !== 2000) throw new Error('rows are missing');
`;

describe('48 MiB of memory', () => {
  it('are enough to read 100 MB of pages, because their bodies are not retained after their rows are copied', async () => {
    expect(await runInLittleMemory(READ)).toBe(0);
  });

  it('are enough to write a part whose keys were cut from 200 MB of text, because that text is not retained', async () => {
    expect(await runInLittleMemory(WRITE)).toBe(0);
  });
});

/**
 * Runs a script, which may await and import, in a thread with 48 MiB of heap. @returns its exit code, or the error that
 * ended it, such as an out-of-memory error
 */
async function runInLittleMemory(script: string): Promise<number | Error> {
  const worker = new Worker(`(async () => {${script}})()`, {
    eval: true,
    resourceLimits: { maxOldGenerationSizeMb: 40, maxYoungGenerationSizeMb: 8 },
  });
  const failed = once(worker, 'error').then(([error]) => error as Error);
  const ended = once(worker, 'exit').then(([code]) => code as number);
  return Promise.race([failed, ended]);
}
