import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import type { SystemPolicy } from '../../../src/core/contract/write-back.js';
import { decodePointer, encodePointer } from '../../../src/lake/documents/pointer.js';
import { checkBatch } from '../../../src/write-back/batch-file.js';
import { batchKeys } from '../../../src/write-back/batch-layout.js';
import type { BatchFile } from '../../../src/write-back/plan-file.js';
import { encodeSealed } from '../../../src/write-back/sealed.js';
import { readTargetSystem, TargetSystem } from '../../../src/write-back/system.js';
import { SENDING } from '../activities/planned-rows.js';
import { ENTRY_COLUMNS, entryRows, StagedFiles } from './staged.js';

const [REAL, TRIAL, OLD] = [
  'https://real.example.com',
  'https://trial.example.com',
  'https://old.example.com',
];

const STARTED: BatchFile = {
  ...{ connection: 'acme', baseUrl: TRIAL, sameAs: [OLD], resource: 'time-entries' },
  ...{ kind: 'csv', keyColumn: null, types: {}, sending: SENDING },
};

describe('a batch that was started', () => {
  const continued = (
    started: Partial<BatchFile>,
    system: TargetSystem,
    connection = 'acme',
  ): string | null => {
    try {
      const requested = { connection, resource: 'time-entries', kind: 'csv', keyColumn: null } as const;
      checkBatch('b', { ...STARTED, ...started }, requested, system);
      return null;
    } catch (error) {
      return `${(error as Error).message}. ${(error as { remedy?: string }).remedy}`;
    }
  };

  it.each<[string, Partial<BatchFile>, TargetSystem, boolean]>([
    ['the same address', {}, new TargetSystem(TRIAL), true],
    ['another address', {}, new TargetSystem(REAL), false],
    ['another address, with --same-system', {}, new TargetSystem(REAL, [], 'same'), true],
    ['another address, with --other-system', {}, new TargetSystem(REAL, [], 'other'), true],
    ['an address that an export followed', {}, new TargetSystem(REAL, [TRIAL]), true],
    ['an address that --same-system confirmed earlier', { sameAs: [REAL] }, new TargetSystem(REAL), false],
    [
      'its earlier address, which --same-system confirmed',
      { baseUrl: REAL, sameAs: [TRIAL] },
      new TargetSystem(REAL),
      true,
    ],
  ])('continues at %s or not', (_, started, system, goesOn) => {
    const problem = continued(started, system);
    if (goesOn) expect(problem).toBeNull();
    else
      expect(problem).toMatch(
        /^batch b has sent rows to https:\/\/trial\S+, and baseUrl is now https:\/\/real\S+\. Nothing was sent.*--same-system.*--other-system/,
      );
  });

  it('continues under another name of the connection only where the same system answers', () => {
    expect(continued({}, new TargetSystem(TRIAL), 'renamed')).toBeNull();
    expect(continued({}, new TargetSystem(REAL, [], 'same'), 'renamed')).toBeNull();
    expect(continued({}, new TargetSystem(REAL), 'renamed')).toContain(
      'connection acme, but now has renamed',
    );
  });
});

describe('the addresses of a system', () => {
  it('are those that the user has confirmed and those that are known, without the current one', () => {
    expect(new TargetSystem(REAL, [OLD], 'same').aliasesWith(TRIAL)).toEqual([OLD, TRIAL]);
    expect(new TargetSystem(REAL, [OLD], 'other').aliasesWith(TRIAL)).toEqual([OLD]);
    expect(new TargetSystem(REAL, [OLD]).aliasesWith(REAL)).toEqual([OLD]);
  });
});

// One lake, before and after an export has followed the address.
describe('a file that was written elsewhere', { shuffle: false }, () => {
  const files = new StagedFiles();
  const HERE = files.connection.baseUrl;
  const CSV = 'description,startedAt\nA,2026-11-20T08:00:00Z\n';
  beforeAll(async () => {
    await files.publish('time-entries', ENTRY_COLUMNS, entryRows(3));
    const { batchId } = await files.check('a.csv', CSV);
    await files.store.write(batchKeys(batchId).batch, encodeSealed(STARTED));
  });
  afterAll(() => files.remove());

  /** As `export --adopt` leaves the pointer. */
  async function follow(formerBaseUrls: string[]): Promise<void> {
    const key = 'time-entries/latest.json' as ObjectKey;
    const pointer = decodePointer(await files.store.read(key));
    await files.store.write(key, encodePointer({ ...pointer, baseUrl: HERE, formerBaseUrls }));
  }

  it('is not written here before the user says what the other address is', async () => {
    const problem = await files.error('a.csv', CSV);
    expect(problem).toContain(TRIAL);
    expect(problem).toContain(HERE);
    for (const system of ['same', 'other'] satisfies SystemPolicy[])
      expect((await files.check('a.csv', CSV, { system })).system.placeOf(TRIAL)).toBe(
        system === 'same' ? 'here' : 'elsewhere',
      );
  });

  it('continues here if an export has followed the address', async () => {
    await follow([OLD]);
    expect(await files.error('a.csv', CSV)).toContain(TRIAL);
    await follow([OLD, TRIAL]);
    expect(await files.error('a.csv', CSV)).toBe('no error');
    // Another lake of the same lists proves nothing about this address.
    const system = await readTargetSystem(files.store, { ...files.connection, baseUrl: REAL }, undefined);
    expect(system.placeOf(TRIAL)).toBe('open');
  });
});
