import { randomBytes } from 'node:crypto';
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { DeflatePool } from '../../../../src/lake/part/framing.js';

const inflate = (packed: Buffer) => inflateRawSync(packed, { finishFlush: constants.Z_SYNC_FLUSH });

describe('A pool of zlib contexts', () => {
  it('packs many pieces together, each as if it were the only one', async () => {
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

  it('packs equal content into equal bytes, whatever it packed before', async () => {
    let seed = 7;
    const random = (below: number): number => {
      seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff;
      return Math.floor((seed / 0x7fffffff) * below);
    };
    const words = Array.from({ length: 60 }, () => `${random(1e9).toString(36)},`.repeat(1 + random(2)));
    const text = (bytes: number): Buffer => {
      let made = '';
      while (made.length < bytes) made += `${words[random(60)]}${random(1000)}\n`;
      return Buffer.from(made.slice(0, bytes));
    };
    const pool = new DeflatePool();
    // Short ones, those about as long as zlib's window, and longer ones.
    const pieces = Array.from({ length: 150 }, (_, at) =>
      text([200 + random(10_000), 65_000 + random(1500), random(130_000)][at % 3]!),
    );
    const seen = pieces.map(() => new Set<string>());
    for (let round = 0; round < 6; round++) {
      await Promise.all(
        pieces.map(async (_, at) => {
          const which = (at * 7 + round * 31) % pieces.length;
          seen[which]!.add((await pool.pack(pieces[which]!)).toString('latin1'));
        }),
      );
    }
    expect(seen.filter((outputs) => outputs.size !== 1).length).toBe(0);
  });
});
