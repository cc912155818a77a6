import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkLake } from '../../../src/doctor/check-lake.js';
import { type FaultyStack, startFaultyStack } from '../../support/faulty-stack.js';
import { shortenBackOffs } from '../../support/short-waits.js';

shortenBackOffs();

interface Answer {
  readonly status: number;
  readonly code: string;
  readonly message?: string;
  readonly region?: string;
  /** Of which requests. Default: of those that write. */
  readonly to?: { readonly method?: string; readonly path?: RegExp; readonly header?: RegExp };
}

const WRITES = { method: 'PUT' };

/** What stores answer in these cases, and what the user must read: the cause, and the way out. */
const CASES: readonly (readonly [string, Answer, says: RegExp, remedy: RegExp])[] = [
  [
    'a disabled KMS key',
    { status: 400, code: 'KMS.DisabledException', message: 'arn:aws:kms:eu-central-1:1:key/x is disabled.' },
    /the KMS key is disabled, or will be deleted/,
    /Enable the key again/,
  ],
  [
    'a KMS key that will be deleted',
    { status: 400, code: 'KMS.KMSInvalidStateException', message: 'key/x is pending deletion.' },
    /the KMS key is disabled, or will be deleted/,
    /cancel its deletion/,
  ],
  [
    'a KMS key that does not exist',
    { status: 400, code: 'KMS.NotFoundException', message: "Key 'x' does not exist" },
    /the KMS key does not exist/,
    /lake\.encryption/,
  ],
  [
    'a KMS key of another account',
    {
      status: 403,
      code: 'AccessDenied',
      message: 'not authorized to perform: kms:GenerateDataKey on resource x',
    },
    /the KMS key cannot be used/,
    /kms:GenerateDataKey/,
  ],
  [
    'a quota that is used up',
    { status: 403, code: 'QuotaExceeded' },
    /a quota is used up/,
    /raise the quota/,
  ],
  ['a full store', { status: 507, code: 'XMinioStorageFull' }, /no space left/, /continues by itself/],
  [
    'a suspended account',
    { status: 403, code: 'AccountProblem' },
    /the account of the store is suspended/,
    /operator of the store/,
  ],
  [
    'an archive',
    { status: 403, code: 'InvalidObjectState', to: { method: 'GET', path: /part-/ } },
    /the object is in an archive/,
    /Restore it from its storage class/,
  ],
  [
    'another region',
    { status: 301, code: 'PermanentRedirect', region: 'eu-west-3', to: {} },
    /the bucket is in the region eu-west-3/,
    /lake\.region: eu-west-3/,
  ],
  [
    'a tag that the store does not know',
    {
      status: 501,
      code: 'NotImplemented',
      message: 'A header you provided implies functionality that is not implemented: x-amz-tagging',
    },
    /the store does not support lake\.tags/,
    /Remove lake\.tags/,
  ],
  [
    'a storage class that the store does not know',
    { status: 400, code: 'InvalidStorageClass', message: 'The storage class you specified is not valid' },
    /the store does not support lake\.storageClass/,
    /Remove lake\.storageClass/,
  ],
  ['a missing right to write', { status: 403, code: 'AccessDenied' }, /access is denied/, /s3:PutObject/],
  [
    'a clock that is wrong',
    { status: 403, code: 'RequestTimeTooSkewed' },
    /the clocks differ too much/,
    /NTP/,
  ],
  [
    'a store that rejects conditional writes',
    { status: 501, code: 'NotImplemented', to: { method: 'PUT', header: /^if-(none-)?match:/im } },
    /conditional writes/,
    /\S/,
  ],
];

describe('a store that refuses what runs do', () => {
  let faulty: FaultyStack;
  beforeAll(async () => {
    faulty = await startFaultyStack();
  });
  afterAll(() => faulty?.stop());

  it.each(CASES)(
    'because of %s is named by doctor, once, with the way out',
    async (_, answer, says, remedy) => {
      const { s3, stack } = faulty;
      const { to = WRITES, ...fault } = answer;
      const rule = s3.add({ ...to, fault: { kind: 'status', ...fault } });
      try {
        const problems = (await checkLake(stack.settings.connections[0]!, 20_000)).filter(
          ({ state }) => state === 'problem',
        );
        expect(rule.hits).toBeGreaterThan(0);
        const named = problems.filter((one) => says.test(one.message));
        // One cause is one line; another one needs another right.
        expect(named.length).toBe(new Set(named.map((one) => one.remedy)).size);
        if (to === WRITES && answer.status !== 507 && !/Quota|Skew/.test(answer.code))
          expect(named[0]?.message).toContain('; these fail too: ');
        expect(named[0]?.remedy).toMatch(remedy);
        const others = problems.filter((one) => !says.test(one.message)).map(({ message }) => message);
        expect(others).toEqual([]);
        if (!/conditional/.test(says.source))
          expect(problems.map(({ message }) => message).join('\n')).not.toContain('rejects conditional');
      } finally {
        s3.clear();
      }
    },
  );
});
