import { ANSWER_CASES } from './answers.js';
import { CLAIM_CASES } from './claims.js';
import { DELETE_CASES } from './deletes.js';
import { LIMIT_CASES } from './limits.js';
import { LIST_CASES } from './lists.js';
import type { OddCase } from './odd-case.js';
import { RECORD_CASES } from './records.js';
import { REDIRECT_CASES } from './redirects.js';
import { WAIT_CASES } from './waits.js';

export type { OddCase } from './odd-case.js';
export {
  expectOutcomes,
  type OddRequest,
  type OddResult,
  oddConnection,
  oddName,
  runOdd,
  startOdd,
} from './run-odd.js';

/** What an export, two increments and a reconcile make of each odd service, by topic. */
export const ODD_CASES: readonly OddCase[] = [
  ...ANSWER_CASES,
  ...LIMIT_CASES,
  ...WAIT_CASES,
  ...REDIRECT_CASES,
  ...LIST_CASES,
  ...CLAIM_CASES,
  ...DELETE_CASES,
  ...RECORD_CASES,
];
