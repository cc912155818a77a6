import { posix } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StoreError, toObjectKey } from '../../../../src/lake/store/index.js';
import { keyProblem } from '../../../../src/lake/store/key.js';
import { parseLocation } from '../../../../src/lake/store/open.js';
import { HOSTILE_KEYS } from '../../../support/store-contract.js';

describe('Keys', () => {
  it('accepts the names that the lake uses', () => {
    for (const key of [
      'projects/latest.json',
      'time-entries/snapshots/dt=2026-11-21/run=20261121T020000Z-0a1b2c3d/part-00000.csv.gz',
      '_staging/tasks/...hidden/..x',
      'émoji \u{1f600}',
      'x'.repeat(255),
    ]) {
      expect(toObjectKey(key)).toBe(key);
    }
  });

  it.each(HOSTILE_KEYS.map((key) => [JSON.stringify(key).slice(0, 40), key]))('refuses %s', (_, key) => {
    expect(() => toObjectKey(key)).toThrow(StoreError);
  });

  it('never lets a path made of a key leave its folder', () => {
    const segment = fc.oneof(fc.constantFrom('..', '.', '', 'a', '...', '%2e%2e', '..;'), fc.string());
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 6 }), (segments) => {
        const key = segments.join('/');
        if (keyProblem(key) !== null) return;
        expect(posix.join('/lake/root', key)).toBe(`/lake/root/${key}`);
      }),
    );
  });
});

describe('Lake URLs', () => {
  it('names bucket and prefix, or a folder', () => {
    expect(parseLocation('s3://company-lake')).toEqual({ type: 's3', bucket: 'company-lake', prefix: '' });
    expect(parseLocation('s3://lake/a/b c%20/')).toEqual({ type: 's3', bucket: 'lake', prefix: 'a/b c%20' });
    expect(parseLocation('file:///var/lake%20one/')).toEqual({ type: 'file', folder: '/var/lake one' });
  });

  it.each([
    's3://',
    's3:///prefix',
    's3://UPPER/x',
    's3://lake/../other',
    's3://lake//x',
    's3://user:secret@lake/x',
    'file://relative',
    'file:///a%2fb',
    'https://lake/x',
    '/var/lake',
    '',
  ])('refuses %j', (url) => {
    expect(() => parseLocation(url)).toThrow(StoreError);
  });
});
