import { describe, expect, it } from 'vitest';
import type { Settings } from '../../../src/core/settings.js';
import { cacheBytes, cachedWorkflows } from '../../../src/temporal/worker/cached-workflows.js';

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

  it('all mirrors and exports of up to 50 connections with seven resources, with room for others', () => {
    expect(cachedFor(...Array<number>(20).fill(7))).toBe(180);
    expect(cachedFor(...Array<number>(50).fill(7))).toBe(420);
  });

  it('100 workflows if there are too many for all of them', () => {
    expect(cachedFor(...Array<number>(51).fill(7))).toBe(100);
    expect(cachedFor(...Array<number>(1000).fill(7))).toBe(100);
  });
});

it('a cached workflow beyond the first 100 counts as 0.2 MiB', () => {
  expect(cacheBytes(50)).toBe(0);
  expect(cacheBytes(100)).toBe(0);
  expect(cacheBytes(420)).toBe(64 * 2 ** 20);
});
