import { describe, expect, it } from 'vitest';
import {
  countsUnlisted,
  countsUnrestored,
  expectsRecords,
  type RunFile,
} from '../../../src/lake/documents/run-file.js';

const PLAIN = {
  ...{ mode: 'full', reconcile: false, earlierList: null, before: { rows: 3 } },
  resource: { windowMs: null, windowField: null },
};

describe('a full read that does not look for deletes', () => {
  it.each<[what: string, run: object, expects: boolean, counts: boolean]>([
    ['of a list without a window', {}, true, false],
    ['of a window whose field is known', { resource: { windowMs: 1, windowField: 'date' } }, true, false],
    ['of a window whose field is not known', { resource: { windowMs: 1, windowField: null } }, false, false],
    ['after an earlier list', { earlierList: {} }, false, true],
    ['of an audit', { audit: {} }, false, false],
    ['as the first run', { before: null }, false, false],
    ['after a run without rows', { before: { rows: 0 } }, false, false],
    ['but is an increment', { mode: 'increment' }, false, false],
    ['but is an increment after an earlier list', { mode: 'increment', earlierList: {} }, false, false],
    ['but looks for them', { reconcile: true }, false, false],
    ['but looks for them after an earlier list', { reconcile: true, earlierList: {} }, false, false],
  ])('expects records, or counts those that are not listed: %s', (_, run, ...expected) => {
    const file = { ...PLAIN, ...run } as unknown as RunFile;
    expect([expectsRecords(file), countsUnlisted(file)]).toEqual(expected);
  });
});

describe('a run', () => {
  const returning = { before: { rolledBack: {} } };
  it.each<[what: string, run: object, counts: boolean]>([
    ['not with the same settings', {}, false],
    ['after a change of settings', { settingsChange: {} }, true],
    ['as the full read that ends a rollback', returning, true],
    ['as both', { ...returning, settingsChange: {} }, true],
    ['not as an increment after a rollback', { ...returning, mode: 'increment' }, false],
    ['not as a rollback', { ...returning, settingsChange: {}, rollback: {} }, false],
  ])('counts the rows that keep cells of earlier settings, or does not: %s', (_, run, counts) => {
    const file = { ...PLAIN, settingsChange: null, rollback: null, ...run } as unknown as RunFile;
    expect(countsUnrestored(file)).toBe(counts);
  });
});
