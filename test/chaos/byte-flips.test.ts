import { expect, it } from 'vitest';
import { flipTable, runByteFlips } from './support/byte-flips.js';

const seed = Number(process.env.WORKTRACK_SEED ?? 1);

it('never publishes a wrong row, whichever bit of a lake has flipped', { timeout: 3_600_000 }, async () => {
  const rows = await runByteFlips({ seed, flips: 300, exports: 25 });
  console.log(`seed ${seed}\n${flipTable(rows)}`);
  for (const row of rows) expect(row.publishedWrong, row.kind).toBe(0);
});
