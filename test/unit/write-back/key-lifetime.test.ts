import { describe, expect, it } from 'vitest';
import type { UnknownPolicy } from '../../../src/core/contract/write-back.js';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/duration.js';
import { whileRemembered } from '../../../src/write-back/key-lifetime.js';
import type { RowState } from '../../../src/write-back/plan-file.js';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const LIFE = 12 * HOUR_MS;
const NEVER_SENT = { receipt: null, sentAt: null };
const sentAgo = (ms: number) => ({ receipt: null, sentAt: NOW - ms });
const OLD = sentAgo(LIFE + 1);
const RULES = {
  ...{ unknownAfterMs: LIFE, unknown: 'report' as UnknownPolicy, run: 'this', now: NOW },
  repeat: 'always' as const,
};
const state = (more: Partial<RowState>): RowState => ({
  ...{ receipt: null, sentAt: null, status: null, message: null, held: null, failing: null },
  ...{ unclearIn: [], sentIn: [] },
  ...more,
});
type Row = Parameters<typeof whileRemembered>[0];
const sent = (before: string, notAfter: number) => ({ before, notAfter });

describe('the lifetime of an idempotency key', () => {
  it.each<[what: string, row: Row, expected: object | string]>([
    ['begins when the row is sent first', NEVER_SENT, sent('never', NOW + LIFE)],
    ['counts from the first request', sentAgo(HOUR_MS), sent('remembered', NOW - HOUR_MS + LIFE)],
    ['lasts until its end', sentAgo(LIFE), sent('remembered', NOW)],
    ['has ended after that', OLD, 'unclear'],
    ['begins at once if the clocks differ a little', sentAgo(-MINUTE_MS), sent('remembered', NOW + LIFE)],
    ['has ended if the age is not known', sentAgo(-HOUR_MS), 'unclear'],
    ['begins again with a new key', { ...sentAgo(HOUR_MS), keyNumber: 1 }, sent('forgotten', NOW + LIFE)],
    ['begins again if a user asks for the row', { ...OLD, asked: true }, sent('forgotten', NOW + LIFE)],
  ])('%s', (_, row, expected) => {
    expect(whileRemembered(row, undefined, RULES)).toEqual(expected);
  });

  it('counts from the earliest request of all plans and attempts', () => {
    const early = state({ sentAt: NOW - 2 * HOUR_MS });
    expect(whileRemembered(sentAgo(HOUR_MS), early, RULES)).toEqual(
      sent('remembered', NOW - 2 * HOUR_MS + LIFE),
    );
    expect(whileRemembered(NEVER_SENT, state({ sentAt: OLD.sentAt }), RULES)).toBe('unclear');
  });

  it('is followed by what the user wants', () => {
    const of = (unknown: UnknownPolicy, row: Row) => whileRemembered(row, undefined, { ...RULES, unknown });
    expect(of('skip', OLD)).toBe('skipped');
    expect(of('resend', OLD)).toEqual(sent('forgotten', NOW + LIFE));
    for (const unknown of ['skip', 'resend'] as const)
      expect(of(unknown, sentAgo(HOUR_MS))).toEqual(of('report', sentAgo(HOUR_MS)));
  });

  it('is nothing for a service that ignores keys, which gets a row once for each time a user asks', () => {
    const never = { ...RULES, repeat: 'never' } as const;
    expect(whileRemembered(NEVER_SENT, undefined, never)).toEqual(sent('never', NOW + LIFE));
    expect(whileRemembered(sentAgo(1), undefined, never)).toBe('unclear');
    const asked = { ...sentAgo(1), asked: true } as const;
    expect(whileRemembered(asked, undefined, never)).toEqual(sent('forgotten', NOW + LIFE));
    const resend = { ...never, unknown: 'resend' } as const;
    const here = state({ sentAt: NOW - 1, sentIn: ['earlier', 'this'] });
    expect(whileRemembered(asked, here, never)).toBe('unclear');
    expect(whileRemembered(NEVER_SENT, here, resend)).toBe('unclear');
    expect(whileRemembered(sentAgo(1), here, resend)).toBe('unclear');
    const before = state({ sentAt: NOW - 1, sentIn: ['earlier'] });
    expect(whileRemembered(NEVER_SENT, before, resend)).toEqual(sent('forgotten', NOW + LIFE));
  });

  it('lets a user leave only rows that were in doubt before the run', () => {
    const skip = { ...RULES, repeat: 'never', unknown: 'skip' } as const;
    const of = (sentIn: string) =>
      whileRemembered(NEVER_SENT, state({ sentAt: NOW - 1, sentIn: [sentIn] }), skip);
    expect([of('earlier'), of('this')]).toEqual(['skipped', 'unclear']);
  });

  it('does not matter in the run whose complete response left the outcome unknown', () => {
    const unclear = (...unclearIn: string[]) => state({ sentAt: NOW - 1, unclearIn });
    expect(whileRemembered(NEVER_SENT, unclear('this'), RULES)).toBe('unclear');
    expect(whileRemembered(NEVER_SENT, unclear('this', 'earlier'), RULES)).toBe('unclear');
    expect(whileRemembered(NEVER_SENT, unclear('earlier'), RULES)).toEqual(
      sent('remembered', NOW - 1 + LIFE),
    );
    const resend = { ...RULES, unknown: 'resend' } as const;
    expect(whileRemembered(OLD, unclear('this'), resend)).toBe('unclear');
  });
});
