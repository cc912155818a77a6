import { describe, expect, it } from 'vitest';
import { parseSince } from '../../../src/cli/runs/backfill.js';
import { UsageError } from '../../../src/cli/shared/usage-error.js';
import type { RunId } from '../../../src/core/brands.js';
import { isRunId, parseRunDate } from '../../../src/core/run-id.js';
import { parseIsoTime } from '../../../src/core/utc-time.js';
import { isLater } from '../../../src/lake/rows/newer.js';
import { parseTimestamp } from '../../../src/webhook/signature.js';
import { checkSyncInput } from '../../../workflows/mirror/sync-request.js';

const MISSING = ['2026-02-30', '2026-02-29', '2026-04-31', '2026-13-01', '2026-00-10', '2026-01-00'];

describe('An ISO 8601 time', () => {
  it.each([
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2026-11-21T02:00Z', '2026-11-21T02:00:00.000Z'],
    ['2026-11-21T02:00:00.25Z', '2026-11-21T02:00:00.250Z'],
    ['2026-11-21T02:00:00+0130', '2026-11-21T00:30:00.000Z'],
    ['2026-11-21T02:00-01:30', '2026-11-21T03:30:00.000Z'],
  ])('%s is %s', (text, expected) => {
    expect(new Date(parseIsoTime(text) ?? Number.NaN).toISOString()).toBe(expected);
  });

  it.each([
    ...MISSING,
    ...MISSING.map((date) => `${date}T00:00:00Z`),
    '2026-11-21T24:00:00Z',
    '2026-11-21T23:60:00Z',
    '2026-11-21T23:59:60Z',
    '2026-11-21T00:00:00+24:00',
    '2026-11-21T00:00:00',
    '2026-1-1',
    '',
  ])('%s does not exist or is not a time', (text) => {
    expect(parseIsoTime(text)).toBeNull();
  });
});

describe('A date that does not exist', () => {
  it.each(MISSING)('%s is rejected by --since', (text) => {
    expect(() => parseSince(text)).toThrow(UsageError);
    expect(() => parseSince(`${text}T12:00:00+01:00`)).toThrow(UsageError);
  });

  it('is rejected by the update sync', () => {
    expect(() => checkSyncInput({ since: '2026-02-30T00:00:00Z' as never })).toThrow(/since/);
  });

  it('is not valid in a run id', () => {
    const text = '20260230T020000Z-1a2b3c4d';
    expect(isRunId(text)).toBe(false);
    expect(() => parseRunDate(text as RunId)).toThrow(RangeError);
  });

  it('is not a valid timestamp of a change notice', () => {
    expect(parseTimestamp('2026-02-30T00:00:00Z')).toBeNull();
  });

  it('cannot be compared with a date that exists', () => {
    expect(isLater('2026-02-30', '2026-03-01')).toBeNull();
  });
});
