import { describe, expect, it } from 'vitest';
import { nextPageSize, sizeToTry } from '../../../src/core/learned-page-size.js';

describe('the page size of a run', () => {
  it('is the configured size until the service rejects it', () => {
    expect(sizeToTry(null, 1000)).toBeNull();
    expect(nextPageSize(null, 1000, 1000)).toBeNull();
    expect(nextPageSize(null, 1000, 125)).toEqual({ configured: 1000, learned: 125, runs: 1 });
  });

  it('doubles every seven runs, and returns to the learned size if the service rejects that', () => {
    let known = nextPageSize(null, 1000, 125);
    for (let run = 2; run <= 7; run++) {
      expect(sizeToTry(known, 1000)).toBe(125);
      known = nextPageSize(known, 1000, 125);
    }
    expect(sizeToTry(known, 1000)).toBe(250);
    expect(nextPageSize(known, 1000, 125)).toEqual({ configured: 1000, learned: 125, runs: 1 });
  });

  it('doubles with every run while the service accepts it, up to the configured size', () => {
    let known = nextPageSize({ configured: 1000, learned: 125, runs: 7 }, 1000, 250);
    expect(sizeToTry(known, 1000)).toBe(500);
    known = nextPageSize(known, 1000, 500);
    expect(sizeToTry(known, 1000)).toBe(1000);
    expect(nextPageSize(known, 1000, 1000)).toBeNull();
  });

  it('resets when the configured size changes', () => {
    const known = { configured: 1000, learned: 125, runs: 3 };
    expect(sizeToTry(known, 200)).toBeNull();
    expect(nextPageSize(known, 200, 100)).toEqual({ configured: 200, learned: 100, runs: 1 });
  });
});
