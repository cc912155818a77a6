import { afterAll, describe, expect, it } from 'vitest';

const NUMBERS = Array.from({ length: 20 }, (_, at) => at);

// Vitest ignores an order at a place that it does not read, without a word (vitest.config.ts).
describe('the tests of a file', () => {
  const ran: number[] = [];
  it.each(NUMBERS)('run in turn: %i', (number) => {
    ran.push(number);
  });

  afterAll(() => {
    if (process.env.WORKTRACK_ORDER) expect(ran).not.toEqual(NUMBERS);
    else expect(ran).toEqual(NUMBERS);
    expect(ran).toHaveLength(NUMBERS.length);
  });
});
