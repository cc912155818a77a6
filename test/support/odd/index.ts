import { LIMIT_CASES } from './limits.js';
import type { OddCase } from './odd-case.js';

export type { Expected, OddCase } from './odd-case.js';

/** What an export and two increments make of each odd service, by topic. */
export const ODD_CASES: readonly OddCase[] = [...LIMIT_CASES];
