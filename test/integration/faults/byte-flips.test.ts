import { expect, it } from 'vitest';
import { flipTable, runByteFlips } from '../../chaos/support/byte-flips.js';

/** The short form of test/chaos/byte-flips.test.ts. */
it('verify detects a flipped bit in every object of the published run, and no export publishes a wrong row', async () => {
  const rows = await runByteFlips({ seed: 20261121, flips: 3, exports: 1 });
  const table = flipTable(rows);
  for (const row of rows) {
    expect(row.publishedWrong, table).toBe(0);
    const isPublished = /^(pointer|manifest|block index|part)/.test(row.kind);
    if (isPublished) expect(row.noticedByVerify, table).toBe(row.verified);
  }
});
