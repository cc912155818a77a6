import { describe, expect, test } from 'vitest';
import {
  afterAnswer,
  afterWords,
  areWordsSpent,
  MAX_WORDS_MS,
  NO_WORDS,
} from '../../../src/core/unproven-limits.js';

const MINUTE = 60_000;

describe('the budget for words about a limit', () => {
  test('is 15 minutes from the first refusal on, however often it is repeated', () => {
    let words = NO_WORDS;
    for (let minute = 0; minute < 15; minute++) {
      words = afterWords(words, 1000 + minute * MINUTE);
      expect(areWordsSpent(words, 1000 + minute * MINUTE)).toBe(false);
    }
    expect(areWordsSpent(afterWords(words, 1000 + MAX_WORDS_MS), 1000 + MAX_WORDS_MS)).toBe(true);
  });

  test('is one budget of the run: answers in between only stop the clock', () => {
    let words = NO_WORDS;
    for (let limit = 0; limit < 3; limit++) {
      words = afterWords(words, limit * 100 * MINUTE);
      words = afterAnswer(words, limit * 100 * MINUTE + 5 * MINUTE - 1);
      words = afterAnswer(words, limit * 100 * MINUTE + 90 * MINUTE);
    }
    expect(areWordsSpent(words, 400 * MINUTE)).toBe(false);
    words = afterWords(words, 500 * MINUTE);
    expect(areWordsSpent(words, 500 * MINUTE)).toBe(false);
    expect(areWordsSpent(words, 500 * MINUTE + 3)).toBe(true);
  });

  test('does not grow when a clock is set back', () => {
    expect(areWordsSpent(afterAnswer(afterWords(NO_WORDS, 1000 * MINUTE), 0), 0)).toBe(false);
  });
});
