import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { ENGINES } from './engines.js';
import { LAKES, type RecordedLakes, recordLakes } from './lakes.js';
import { readLakes } from './read-lakes.js';

/** `WORKTRACK_ENGINES` selects engines by a regular expression for their title, such as `Spark 3|DuckDB`. */
const selected = ENGINES.filter(({ title }) => new RegExp(process.env.WORKTRACK_ENGINES ?? '').test(title));

describe('The printed statements and the Delta tables of six lakes, through five steps', () => {
  let recorded: RecordedLakes;
  const table: Record<string, string | number>[] = [];

  beforeAll(async () => {
    recorded = await recordLakes(LAKES);
  });
  afterAll(async () => {
    if (table.length > 0) console.table(table);
    await recorded?.remove();
  });

  it.each(selected)('show every cell in $title', { timeout: 1_800_000 }, async (engine) => {
    const found = await readLakes(engine, recorded.lakes, inject('servers'));
    for (const [reads, { compared, documented, different, refused }] of Object.entries(found)) {
      if (compared + different.length === 0) continue;
      const row = { engine: engine.title, reads, cells: compared, different: different.length, documented };
      table.push({ ...row, refused: refused.length });
      for (const line of different.slice(0, 5)) console.log(`  ${line}`);
      console.log(JSON.stringify(row), refused.length === 0 ? '' : `refused: ${refused.join('; ')}`);
    }
    const different = Object.values(found).flatMap((cells) => cells.different);
    expect(different.slice(0, 20)).toEqual([]);
    expect(engine.reads.every((reads) => found[reads].compared > 10_000)).toBe(true);
  });
});
