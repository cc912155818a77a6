import type { OddCase } from './odd-case.js';

const years = {
  exit: 1,
  rows: 'none',
  says: /requires a wait of \d+d.* \(Retry-After: \d{10}\), which is longer than `retries.giveUpAfter` \(6h\)/,
} as const;

export const WAIT_CASES: readonly OddCase[] = [
  { odd: ['retry-after-epoch'], waits: true },
  { odd: ['retry-after-epoch-ms'], waits: true },
  { odd: ['retry-after-past'] },
  { odd: ['retry-after-years'], waits: true, resources: '[tasks, projects]', runs: [years, years, years] },
];
