import { expect, it } from 'vitest';
import { inputKey, planKey, planName } from '../../../src/write-back/index.js';
import { isPlanOf } from '../../../src/write-back/layout.js';

const input = inputKey('batch-1', 'ab12'.repeat(16), 'csv');
const other = inputKey('batch-1', 'cd34'.repeat(16), 'csv');

it('recognizes the plans of an input, also those of versions whose names have no size of the chunks', () => {
  const plan = planKey('batch-1', planName(7, input, 250));
  const older = planKey('batch-1', '000007-ab12ab12ab12ab12');
  expect([plan, older].map((one) => isPlanOf(one, input))).toEqual([true, true]);
  expect([plan, older].map((one) => isPlanOf(one, other))).toEqual([false, false]);
});

it('keeps plans with chunks of different sizes in different folders, the newer name last', () => {
  const names = [planName(1, input, 1000), planName(1, input, 250), '000001-ab12ab12ab12ab12'];
  expect(new Set(names).size).toBe(3);
  expect(names.sort()[0]).toBe('000001-ab12ab12ab12ab12');
  expect([planName(2, input, 250), ...names].sort().at(-1)).toBe(planName(2, input, 250));
});
