import { describe, expect, it } from 'vitest';
import { compareWith, decimalLimit, isDecimal } from '../../../src/core/decimal.js';
import { seededRandom } from '../../support/random.js';
import { SEED } from '../../support/seeds.js';

/** The literal times 10^60, computed with whole numbers. */
function scaled(literal: string): bigint {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal)!;
  const power = 60 - fraction.length + Number(exponent);
  return BigInt(`${sign}${whole}${fraction}`) * 10n ** BigInt(power);
}

describe(`the comparison of number literals (seed ${SEED})`, () => {
  it('is that of whole numbers', () => {
    const random = seededRandom(SEED);
    const digits = (most: number) =>
      Array.from({ length: 1 + random.below(most) }, () => random.pick(['0', '9', '1', '5'])).join('');
    const literal = (): string => {
      const fraction = random.below(2) === 0 ? '' : `.${digits(18)}`;
      const exponent =
        random.below(3) > 0
          ? ''
          : `${random.pick(['e', 'E'])}${random.pick(['', '+', '-'])}${random.below(12)}`;
      return `${random.pick(['', '-'])}${digits(18)}${fraction}${exponent}`;
    };
    for (let n = 0; n < 20_000; n++) {
      const a = literal();
      // Half of them differ little or not at all.
      const b =
        random.below(2) === 0
          ? literal()
          : random.pick([`${a.split(/e/i)[0]}`, a.replace(/\d(?=\D*$)/, '5'), a]);
      const [left, right] = [scaled(a), scaled(b)];
      const expected = left < right ? -1 : left > right ? 1 : 0;
      expect([a, b, Math.sign(compareWith(a, decimalLimit(b))!)]).toEqual([a, b, expected]);
    }
  });

  it('tells numbers apart that are the same as doubles', () => {
    expect(compareWith('9007199254740993', decimalLimit('9007199254740992'))).toBeGreaterThan(0);
    expect(compareWith('0.1', decimalLimit('0.10000000000000001'))).toBeLessThan(0);
    expect(compareWith('1e400', decimalLimit('1e399'))).toBeGreaterThan(0);
    for (const [text, limit] of [
      ['-0', '0'],
      ['0', '-0'],
      ['-0.0', '0'],
      ['-0e5', '0'],
    ] as const)
      expect(compareWith(text, decimalLimit(limit))).toBe(0);
  });

  it('takes nothing else for a number', () => {
    for (const text of [
      '',
      ' 1',
      '1 ',
      '+1',
      '.5',
      '1.',
      '0x1',
      'NaN',
      'Infinity',
      '1e',
      '1_000',
      '1,5',
      '١',
    ]) {
      expect(isDecimal(text), text).toBe(false);
      expect(compareWith(text, decimalLimit('0')), text).toBeNull();
    }
    expect(() => decimalLimit('ten')).toThrow(RangeError);
  });
});
