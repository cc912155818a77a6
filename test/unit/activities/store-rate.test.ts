import { expect, it } from 'vitest';
import { isFar } from '../../../src/run/read/stager.js';

const MIB = 1024 * 1024;

it('a store is far if it takes less than 8 MiB per second', () => {
  expect(isFar(16 * MIB, 1999)).toBe(false);
  expect(isFar(16 * MIB, 2001)).toBe(true);
});

it('a small chunk does not make a store far, because most of its time is latency', () => {
  expect(isFar(MIB, 5000)).toBe(false);
});
