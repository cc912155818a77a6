import type { OddCase } from './odd-case.js';

const elsewhere = {
  exit: 1,
  rows: 'none',
  says: /answered 302, a redirect to login\.example\. Only redirects of reads to the same origin are followed/,
} as const;

export const REDIRECT_CASES: readonly OddCase[] = [
  { odd: ['redirect-slash'] },
  { odd: ['redirect-elsewhere'], runs: [elsewhere, elsewhere, elsewhere] },
];
