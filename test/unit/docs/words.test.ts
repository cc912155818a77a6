import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findingsIn, KINDS, lint, textsOf } from '../../support/prose-lint.mjs';

const ROOT = resolve(import.meta.dirname, '../../..');

describe('the prose linter', () => {
  it.each(KINDS)('finds its own sample of $name', ({ name, sample, in: place }) => {
    const found = findingsIn(sample, { names: place === 'names', cells: place === 'cells' });
    expect(found.map(({ kind }) => kind)).toContain(name);
  });

  it('finds nothing in plain sentences', () => {
    const plain = [
      'A run without changes takes one activity.',
      'The value is 1 with a table, otherwise 0.',
      'The API gives no bounds ([contract](service-api.md)).',
      'Every night, a Schedule starts an export.',
      'See the list of parts in the manifest.',
    ];
    expect(plain.flatMap((text) => findingsIn(text))).toEqual([]);
  });

  it('reads a message of the program as one text, and neither keys nor single words', () => {
    const code = "throw new Error('the lake is out ' +\n  `of reach ($" + "{why})`);\nconst key = 'a-key';";
    const [message, ...rest] = textsOf('src/x.ts', code);
    expect(message).toMatchObject({ text: 'the lake is out of reach (…)', line: 1 });
    expect(rest).toEqual([]);
    expect(findingsIn(message!.text).map(({ kind }) => kind)).toContain('out of reach');
  });

  it('finds nothing in pages, comments, messages and test names', () => {
    expect(lint(ROOT)).toEqual([]);
  });
});
