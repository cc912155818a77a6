import { expect, it } from 'vitest';
import type { ByteString } from '../../../../src/core/brands.js';
import { Twins } from '../../../../src/run/merge/twins.js';

const row = (values: string) => `20261121T020000Z-00000001,2026-11-21T02:00:00Z,,a,${values}\n` as ByteString;

function proofOf(chains: readonly (readonly string[])[]): readonly string[] | null {
  const rows = chains.flatMap((values, chain) => values.map((one) => ({ chain, row: row(one) })));
  const [first, ...rest] = rows;
  const twins = new Twins({ chain: first!.chain, isProof: false }, first!.row);
  for (const one of rest) twins.add({ chain: one.chain, isProof: false }, one.row);
  return twins.proof();
}

it('two readings prove that a key is not unique only if both have the same two rows', () => {
  expect(proofOf([['old', 'new']])).toBeNull();
  expect(proofOf([['old', 'new'], ['new']])).toBeNull();
  // The record changes during each reading.
  expect(
    proofOf([
      ['one', 'two'],
      ['three', 'four'],
    ]),
  ).toBeNull();
  expect(
    proofOf([
      ['one', 'two'],
      ['three', 'four'],
      ['two', 'one'],
    ]),
  ).toEqual([row('two'), row('one')]);
});
