import { describe, expect, it } from 'vitest';
import type { Settings } from '../../../src/core/settings.js';
import { cachedWorkflows } from '../../../src/temporal/worker/cached-workflows.js';

/** @param resources number of resources of each connection */
function cachedFor(...resources: number[]): number {
  const connections = resources.map((length) => ({ resources: Array.from({ length }) }));
  return cachedWorkflows({ connections } as unknown as Settings);
}

describe('a worker caches by default', () => {
  it('at least 100 workflows', () => {
    expect(cachedFor()).toBe(100);
    expect(cachedFor(7, 7)).toBe(100);
  });

  it('all mirrors and exports of up to 47 connections with seven resources, and some more', () => {
    expect(cachedFor(...Array<number>(20).fill(7))).toBe(180);
    expect(cachedFor(...Array<number>(47).fill(7))).toBe(396);
  });

  it('100 workflows if there are too many for all of them', () => {
    expect(cachedFor(...Array<number>(48).fill(7))).toBe(100);
    expect(cachedFor(...Array<number>(1000).fill(7))).toBe(100);
  });
});
