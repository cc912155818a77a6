import { describe, expect, it, vi } from 'vitest';
import { growth, MAX_GROWTH } from '../../support/growth.js';
import { drawn } from '../../support/seeds.js';
import { ATTACKS } from './attacks.js';

// Other files of this process have left hundreds of known secrets, and the redactor searches for each.
vi.resetModules();
const { READERS } = await import('./readers.js');

/** Measures and prints all figures, which takes minutes. */
const IS_TABLE = process.env.WORKTRACK_GROWTH === 'table';

const ALL = Object.entries(ATTACKS);
/** Every reader reads half of them in each `npm test`. */
const DRAWN = IS_TABLE ? ALL : drawn(ALL, Math.ceil(ALL.length / 2));

describe('code that reads texts from outside', () => {
  it.each(Object.entries(READERS))('takes time in proportion to the length: %s', (name, read) => {
    const slow = DRAWN.flatMap(([attack, text]) => {
      const found = growth(read, text, IS_TABLE ? 0 : undefined);
      if (IS_TABLE) process.stderr.write(`${name} | ${attack} | ${found.toFixed(2)}\n`);
      return found > MAX_GROWTH ? [`${attack}: ${found.toFixed(1)} times as long`] : [];
    });
    expect(slow).toEqual([]);
  });
});
