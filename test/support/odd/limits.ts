import type { OddCase } from './odd-case.js';

const refused = {
  exit: 3,
  rows: 'none',
  says: /tasks: GET .* answered 403 and says: Forbidden \(refused\)\. .*lack a grant/,
} as const;

export const LIMIT_CASES: readonly OddCase[] = [
  { odd: ['limit-403-words'] },
  { odd: ['limit-402-quota'] },
  { odd: ['limit-403-retry-after'] },
  { odd: ['limit-401-retry-after'] },
  { odd: ['limit-403-headers'] },
  { odd: ['limit-420'] },
  { odd: ['challenge-page'] },
  { odd: ['plain-403'], runs: [refused, refused, refused] },
];
