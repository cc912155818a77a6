import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { UtcSeconds } from '../../../src/core/brands.js';
import { toUtcSeconds } from '../../../src/core/utc-time.js';
import { warningText } from '../../../src/core/warnings.js';
import type { ClockTimes } from '../../../src/lake/documents/manifest.js';
import {
  clockDifference,
  nextCheckpoint,
  nextReadUpTo,
  updatedSinceAfterSetback,
} from '../../../src/run/read/watermark.js';
import { rounds } from '../../support/seeds.js';

const SECOND = 1000;
const HOUR = 3600 * SECOND;
const DAY = 24 * HOUR;

describe("A setback of the service's clock", () => {
  const start = Date.parse('2026-11-21T02:00:00Z');
  const asked = toUtcSeconds(start - 300_000);
  const upTo = { workflow: start, service: start };
  const sinceAt = (now: ClockTimes, overlapMs = 300_000, before: ClockTimes = upTo) =>
    updatedSinceAfterSetback(asked, before, now, { overlapMs });

  it.each([
    { back: 0, since: asked },
    { back: 299_000, since: asked },
    { back: 300_000, since: '2026-11-21T01:50:00Z' },
    { back: 303_000, since: '2026-11-21T01:49:57Z' },
    { back: 30 * HOUR, since: '2026-11-19T19:55:00Z' },
    { back: -HOUR, since: asked },
  ])('a setback of $back ms is compensated from $since, a day after the previous run', ({ back, since }) => {
    expect(sinceAt({ workflow: start + DAY, service: start + DAY - back })).toBe(since);
  });

  it('a setback of less than a second costs no more than a second of reading', () => {
    const at = toUtcSeconds(start - SECOND);
    const now = { workflow: start + DAY, service: start + DAY - 999 };
    expect(updatedSinceAfterSetback(at, upTo, now, { overlapMs: 0 })).toBe(toUtcSeconds(start - 2 * SECOND));
  });

  it('lets the run read everything if the time that has passed is not known', () => {
    expect(sinceAt({ workflow: start - 1, service: start + DAY })).toBeNull();
    expect(sinceAt({ workflow: start - DAY, service: start - DAY })).toBeNull();
    expect(sinceAt({ workflow: start + DAY, service: null })).toBeNull();
    expect(sinceAt({ workflow: start + DAY, service: null }, 0, { ...upTo, service: null })).toBe(asked);
  });

  it('is also noticed after a run whose checkpoint was later, because it never moves back', () => {
    const late = toUtcSeconds(start + 10 * DAY);
    const now = { workflow: start + DAY, service: start + DAY };
    expect(updatedSinceAfterSetback(late, upTo, now, { overlapMs: 300_000 })).toBe(asked);
  });
});

/** What happens between two runs. Fractions are parts of that time. */
const between = fc.record({
  gap: fc.integer({ min: 1, max: 3 * DAY }),
  /** Setting of the service's clock and of Temporal's: by how much, and when. */
  service: fc.tuple(jump(), fraction()),
  workflow: fc.tuple(jump(), fraction()),
  changes: fc.array(fraction(), { maxLength: 4 }),
  /** From the start of the run to its first response, and from there to its end. */
  queue: fc.integer({ min: 0, max: 20 * 60 * SECOND }),
  reading: fc.integer({ min: 0, max: HOUR }),
  hasDate: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, fc.constant(false)),
  /** A backfill of a later period, such as the last hour. */
  partial: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, fc.constant(true)),
});

function fraction() {
  return fc.double({ min: 0, max: 1, noNaN: true });
}

function jump() {
  const size = fc.oneof(fc.integer({ min: 1, max: 600 * SECOND }), fc.integer({ min: 1, max: 40 * DAY }));
  const signed = fc.tuple(size, fc.boolean()).map(([ms, back]) => (back ? -ms : ms));
  return fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, signed);
}

/** A clock that is set at some times, on top of the true time. */
class Clock {
  readonly #set: { readonly at: number; readonly by: number }[] = [];

  set(at: number, by: number): void {
    this.#set.push({ at, by });
  }

  at(time: number): number {
    return this.#set.reduce((now, { at, by }) => (at <= time ? now + by : now), time);
  }
}

/**
 * Whether the clocks show what happened from one time to another. No one can notice that both went back and still show a
 * later time than before, nor that the service's clock went back for a while and forward again.
 */
function isVisible(
  service: Clock,
  workflow: Clock,
  from: number,
  to: number,
  changes: readonly number[],
): boolean {
  const shift = (clock: Clock, time: number): number => clock.at(time) - clock.at(from) - (time - from);
  const back = Math.min(0, shift(service, to));
  if (changes.some((time) => time > from && time <= to && shift(service, time) < back)) return false;
  return workflow.at(to) < workflow.at(from) || shift(workflow, to) >= 0 || back === 0;
}

describe('The increments of a mirror', () => {
  it('miss no change, however both clocks are set', () => {
    let checked = 0;
    fc.assert(
      fc.property(
        fc.array(between, { minLength: 1, maxLength: 8 }),
        fc.constantFrom('earliest' as const, 'service' as const),
        fc.constantFrom(0, 2 * SECOND, 300 * SECOND),
        fc.boolean(),
        (nights, clock, overlapMs, isExclusive) => {
          const service = new Clock();
          const workflow = new Clock();
          const sync = { clock, overlapMs };
          const begin = Date.parse('2026-11-21T02:00:00Z');
          const dateAt = (time: number): number => Math.floor(service.at(time) / SECOND) * SECOND;
          const stamps = new Map<number, number>();
          const read = new Set<number>();
          let now = begin;
          let base = begin;
          let upTo: ClockTimes = { workflow: begin, service: dateAt(begin) };
          let checkpoint = nextCheckpoint(
            { startedAt: begin, serviceStart: upTo.service, others: undefined },
            sync,
            null,
            null,
          );
          for (const night of nights) {
            const first = now + night.gap + night.queue;
            // After the previous run's first response, which may be in the same millisecond.
            const timeAt = (part: number): number => now + 0.5 + part * (first - now - 0.5);
            const when = ([by, part]: [number, number]) => ({ at: timeAt(part), by });
            for (const [set, one] of [
              [service, when(night.service)],
              [workflow, when(night.workflow)],
            ] as const)
              if (one.by !== 0) set.set(one.at, one.by);
            for (const part of night.changes) {
              const time = timeAt(part);
              stamps.set(time, service.at(time));
            }
            const response = { workflow: workflow.at(first), service: night.hasDate ? dateAt(first) : null };
            // After a run without a date, the service's clock may be anywhere, so nothing is promised.
            if (upTo.service === null) return;
            if (!isVisible(service, workflow, base, first, [...stamps.keys()])) return;
            const asked: UtcSeconds = night.partial
              ? toUtcSeconds(Math.max(Date.parse(checkpoint) + SECOND, response.workflow - HOUR))
              : checkpoint;
            const since = night.partial ? asked : updatedSinceAfterSetback(asked, upTo, response, sync);
            const bound = since === null ? Number.NEGATIVE_INFINITY : Date.parse(since);
            for (const [time, stamp] of stamps)
              if (isExclusive ? stamp > bound : stamp >= bound) read.add(time);
            const startedAt = workflow.at(first - night.queue);
            const clocks = { startedAt, serviceStart: response.service, others: undefined };
            const next = nextCheckpoint(clocks, sync, checkpoint, asked);
            expect(next >= checkpoint).toBe(true);
            if (!night.partial) {
              for (const time of stamps.keys())
                expect(read.has(time), `a change at ${new Date(time).toISOString()}`).toBe(true);
              checked += stamps.size;
              base = first;
            }
            upTo = nextReadUpTo(upTo, response, checkpoint, asked);
            checkpoint = next;
            now = first;
          }
        },
      ),
      { numRuns: rounds(4000), seed: 5 },
    );
    expect(checked).toBeGreaterThan(5000);
  });
});

describe('The increments of a mirror whose service sends no Date', () => {
  // Each clock may be ahead by any time, at any run, and go back again. One of the three is right, or behind.
  const ahead = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 40 * DAY }));
  const night = fc.record({
    gap: fc.integer({ min: SECOND, max: 3 * DAY }),
    ahead: fc.tuple(ahead, ahead, ahead),
    right: fc.nat({ max: 2 }),
    behind: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: 3 * DAY })),
    hasStore: fc.boolean(),
    changes: fc.array(fraction(), { maxLength: 4 }),
  });

  it('miss no change while one of the other clocks is not ahead', () => {
    fc.assert(
      fc.property(
        fc.array(night, { minLength: 1, maxLength: 8 }),
        fc.constantFrom('earliest' as const, 'service' as const),
        fc.constantFrom(0, 300 * SECOND),
        (nights, clock, overlapMs) => {
          let last = Date.parse('2026-11-21T02:00:00Z');
          let upTo: ClockTimes = { workflow: last, service: null };
          let checkpoint = toUtcSeconds(last - SECOND);
          for (const { gap, ahead, right, behind, hasStore, changes } of nights) {
            const now = last + gap;
            const times = ahead.map((by, at) => (at === right ? now - behind : now + by));
            const [temporal, worker, store] = times as [number, number, number];
            const others = { temporal, worker, store: hasStore ? store : null };
            if (!hasStore && right === 2) return;
            const began = { workflow: temporal, service: null };
            const since = updatedSinceAfterSetback(checkpoint, upTo, began, { overlapMs });
            for (const part of changes) {
              const stamp = Math.floor((last + part * gap) / SECOND) * SECOND;
              if (since !== null) expect(stamp).toBeGreaterThanOrEqual(Date.parse(since));
            }
            const clocks = { startedAt: temporal, serviceStart: null, others };
            const next = nextCheckpoint(clocks, { clock, overlapMs }, checkpoint, checkpoint);
            upTo = nextReadUpTo(upTo, began, checkpoint, checkpoint);
            checkpoint = next;
            last = now;
          }
        },
      ),
      { numRuns: rounds(2000), seed: 7 },
    );
  });

  const at = Date.parse('2026-11-21T02:00:00Z');
  it.each([
    [{ temporal: at + DAY, worker: at, store: null }, "Temporal's clock is 24 h ahead of the worker's clock"],
    [{ temporal: at, worker: at + DAY, store: at }, "the worker's clock is 24 h ahead of"],
    [{ temporal: at, worker: at, store: at - 30 * DAY }, "is 720 h ahead of the store's clock"],
    [{ temporal: at, worker: at + HOUR, store: at - 20 * HOUR }, null],
  ])('say which clock is a day off: %j', (clocks, words) => {
    const found = clockDifference(clocks);
    if (words === null) expect(found).toBeNull();
    else expect(warningText({ kind: 'clocks-differ', ...found! })).toContain(words);
  });
});
