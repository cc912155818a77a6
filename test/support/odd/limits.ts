import type { OddCase } from './odd-case.js';

const refused = {
  exit: 3,
  rows: 'none',
  says: /tasks: GET .* answered 403 and says: Forbidden\. .*lack a grant/,
} as const;

const SHORT = '    sync: { pageSize: 10 }\n    retries: { giveUpAfter: 20s }\n';
const lasting = {
  exit: 3,
  rows: 'none',
  says: /answered 403 and says: Daily quota exceeded\. Its headers show a rate limit .*Otherwise the service refuses .*lack a grant/,
} as const;
const challenged = {
  exit: 3,
  rows: 'none',
  says: /answered 403\. This is a challenge or block page .*Otherwise the service refuses .*lack a grant/,
} as const;

export const LIMIT_CASES: readonly OddCase[] = [
  { odd: ['limit-403-words'] },
  { odd: ['limit-402-quota'] },
  { odd: ['limit-403-retry-after'] },
  { odd: ['limit-401-retry-after'] },
  { odd: ['limit-403-headers'] },
  { odd: ['limit-420'] },
  { odd: ['challenge-page'] },
  { odd: ['limit-403-forever'], yaml: SHORT, runs: [lasting, lasting, lasting] },
  { odd: ['challenge-forever'], yaml: SHORT, runs: [challenged, challenged, challenged] },
  { odd: ['plain-403'], runs: [refused, refused, refused] },
];
