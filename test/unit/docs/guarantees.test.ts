import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pageAt } from '../../support/docs.js';
import { GUARANTEES, WRITES } from './guarantees-and-files.js';

const TESTS = resolve(import.meta.dirname, '../..');

/** Headings of guarantees.md, without the title. */
const headings = [...pageAt('docs/explanation/guarantees.md').text.matchAll(/^##+ (.+)$/gm)].map(
  ([, heading]) => heading!,
);
/** First cells of the tables of writes in fencing.md. */
const writes = pageAt('docs/internals/fencing.md')
  .text.split('## Activities')[0]!
  .split('\n')
  .flatMap((line) => /^\| (.+?) \|/.exec(line)?.[1] ?? [])
  .filter((cell) => cell !== 'object');

describe.each([
  { what: 'guarantee', expected: headings, table: GUARANTEES },
  { what: 'write', expected: writes, table: WRITES },
])('each $what of the documentation', ({ expected, table }) => {
  it('has a file of tests', () => {
    expect(Object.keys(table)).toEqual(expected);
  });

  it.each(Object.values(table))('has a file that `npm test` runs: %s', (file) => {
    expect(file).toMatch(/^(unit|integration)\/.+\.test\.ts$/);
    expect(existsSync(join(TESTS, file))).toBe(true);
  });
});
