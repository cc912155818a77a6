import { describe, expect, it } from 'vitest';
import { runInLittleMemory } from '../../../support/little-memory.js';

const BUILT = new URL('../../../../dist/src/lake/part/', import.meta.url);

/** Writes 2,000 blocks, each cut from a text of 100 KB of its own, into a store that keeps nothing. */
const WRITE = `
  const [{ PartWriter }, { framingOf }] = await Promise.all(
    ['writer.js', 'framing.js'].map((name) => import(new URL(name, ${JSON.stringify(BUILT.href)}))),
  );
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

describe('The memory of writing a part', () => {
  it('does not grow with what its keys were cut from', async () => {
    expect(await runInLittleMemory(WRITE)).toBe(0);
  });
});
