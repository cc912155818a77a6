import { expect, it } from 'vitest';
import {
  inputKey,
  inputSha256,
  isPlanOf,
  planKey,
  planKeys,
  planName,
} from '../../../src/write-back/batch-layout.js';

const input = inputKey('batch-1', { sha256: 'ab12'.repeat(16), format: 'csv', settings: '' });

it('recognizes the plans of an input by the whole hash of its content', () => {
  const others = [`${'ab12'.repeat(15)}ab13`, `cd34${'ab12'.repeat(15)}`, 'cd34'.repeat(16)];
  const plan = planKey('batch-1', planName(7, input, 250));
  expect(isPlanOf(plan, input)).toBe(true);
  for (const hash of others) {
    const other = inputKey('batch-1', { sha256: hash, format: 'csv', settings: '' });
    expect(isPlanOf(plan, other), hash).toBe(false);
    expect(inputSha256(other)).toBe(hash);
    expect(other).not.toBe(input);
  }
});

it('keeps plans with chunks of different sizes in different folders, the newer name last', () => {
  const names = [planName(1, input, 1000), planName(1, input, 250)];
  expect(new Set(names).size).toBe(2);
  expect([planName(2, input, 250), ...names].sort().at(-1)).toBe(planName(2, input, 250));
});

it('gives logs of different writers different names, however similar the names of the writers are', () => {
  const plan = planKey('batch-1', planName(1, input, 250));
  // Run ids of one second: UUIDv7 begins with the time.
  const runs = ['0199f0a1-7c3b-7000-8000-000000000001', '0199f0a1-7c3b-7000-8000-000000000002'];
  const names = runs.flatMap((run) => ['5-1', '5-2', '51-1'].map((rest) => `${run}-${rest}`));
  const keys = names.flatMap((name) =>
    (['open', 'done'] as const).map((state) => planKeys(plan).log(3, name, state)),
  );
  expect(new Set(keys).size).toBe(keys.length);
});
