import { randomBytes } from 'node:crypto';
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { DeflatePool } from '../../../../src/lake/part/deflate-pool.js';

const inflate = (packed: Buffer) => inflateRawSync(packed, { finishFlush: constants.Z_SYNC_FLUSH });

describe('A pool of zlib contexts', () => {
  it('packs many pieces at once, each as if it were the only one', async () => {
    const pool = new DeflatePool();
    const pieces = Array.from({ length: 60 }, (_, at) =>
      at % 3 === 0 ? randomBytes(at * 4000) : Buffer.from(`row ${at},`.repeat(at * 900)),
    );
    const packed = await Promise.all(pieces.map((piece) => pool.pack(piece)));
    for (const [at, piece] of pieces.entries()) {
      expect(inflate(packed[at]!).equals(piece)).toBe(true);
      const alone = deflateRawSync(piece, { level: 5, finishFlush: constants.Z_SYNC_FLUSH });
      expect(packed[at]!.equals(alone), `piece ${at}`).toBe(true);
    }
    // Once more: what a context packed before leaves no trace.
    expect((await pool.pack(pieces[7]!)).equals(packed[7]!)).toBe(true);
  });
});
