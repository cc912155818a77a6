import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ObjectKey, RunId, UtcSeconds } from '../../../src/core/brands.js';
import { isRunId, newRunId, parseRunDate, untilOwnSecond } from '../../../src/core/run-id.js';
import { toUtcSeconds } from '../../../src/core/utc-time.js';
import {
  dateOf,
  folderOf,
  indexedObjects,
  inFolder,
  nameOf,
  partName,
  runFolder,
} from '../../../src/lake/documents/lake-layout.js';
import { decodeManifest } from '../../../src/lake/documents/manifest.js';
import { decodePointer, encodePointer, type Pointer } from '../../../src/lake/documents/pointer.js';
import { checkFence, type WriterClaim } from '../../../src/lake/published/ownership.js';
import { isLater, newerRows } from '../../../src/lake/rows/newer.js';
import { nextCheckpoint, windowGap } from '../../../src/run/read/watermark.js';
import { WRITER } from '../../support/writer.js';
import { NEW_RUN, OLD_RUN, OLD_TIME, profileOf, rowText } from './data-plane.js';

const anyTime = fc.integer({ min: Date.parse('1971-01-01'), max: Date.parse('2100-01-01') });
const anyCheckpoint = fc.option(anyTime.map(toUtcSeconds));

describe('Runs in quick succession', () => {
  it('have ids that sort in their order', () => {
    fc.assert(
      fc.property(
        anyTime,
        fc.array(fc.integer({ min: 0, max: 2500 }), { maxLength: 20 }),
        (start, lengths) => {
          let now = start;
          const runs: RunId[] = [];
          for (const ms of lengths) {
            now += untilOwnSecond(now, runs.slice(-1));
            runs.push(newRunId(now, runs.at(-1) ?? null, 'ffffffff-'));
            expect(parseRunDate(runs.at(-1)!)).toBeLessThanOrEqual(now);
            now += ms;
          }
          expect(new Set(runs.map(parseRunDate)).size).toBe(runs.length);
          expect([...runs].sort()).toEqual(runs);
        },
      ),
    );
  });

  it('wait for the next second, but not for a clock that was far ahead', () => {
    const run = newRunId(Date.parse('2026-11-21T02:00:00.400Z'), null, 'ffffffff');
    const at = (text: string) => untilOwnSecond(Date.parse(text), [run]);
    expect(at('2026-11-21T02:00:00.400Z')).toBe(600);
    expect(at('2026-11-21T02:00:01.000Z')).toBe(0);
    expect(at('2026-11-21T01:59:58.000Z')).toBe(3000);
    expect(at('2026-11-21T01:00:00.000Z')).toBe(0);
    expect(untilOwnSecond(0, [])).toBe(0);
  });
});

describe('The next checkpoint', () => {
  const others = fc.option(fc.record({ temporal: anyTime, worker: anyTime, store: fc.option(anyTime) }), {
    nil: undefined,
  });
  const clocks = fc.record({ startedAt: anyTime, serviceStart: fc.option(anyTime), others });
  const overlap = fc.integer({ min: 0, max: 10_000_000 });

  it('is never later than any clock that counts minus the overlap, unless the previous one already is', () => {
    fc.assert(
      fc.property(clocks, overlap, anyCheckpoint, (times, overlapMs, checkpoint) => {
        const next = nextCheckpoint(times, { clock: 'earliest', overlapMs }, checkpoint, null);
        // A second is the least overlap: `updatedSince` may leave its own second out.
        const least = Math.max(overlapMs, 1000);
        const { temporal, worker, store } = times.others ?? {};
        const known = [times.startedAt, temporal, worker, store].filter((time) => typeof time === 'number');
        const all = times.serviceStart === null ? known : [times.startedAt, times.serviceStart];
        const latest = Math.min(...all) - least;
        if (next !== checkpoint) expect(Date.parse(next)).toBeLessThanOrEqual(latest);
        // And no earlier than it must be: rounding costs less than a second.
        if (checkpoint === null) expect(Date.parse(next)).toBeGreaterThan(latest - 1000);
      }),
    );
  });

  it('never moves back and is in whole UTC seconds', () => {
    fc.assert(
      fc.property(
        clocks,
        overlap,
        anyCheckpoint,
        fc.constantFrom('earliest' as const, 'service' as const),
        (times, overlapMs, checkpoint, clock) => {
          const next = nextCheckpoint(times, { clock, overlapMs }, checkpoint, null);
          expect(next).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
          if (checkpoint !== null) expect(Date.parse(next)).toBeGreaterThanOrEqual(Date.parse(checkpoint));
        },
      ),
    );
  });

  it('uses only the service clock if configured, and the earliest of the others if the service sends none', () => {
    const sync = { clock: 'service', overlapMs: 60_000 } as const;
    const startedAt = Date.parse('2026-11-21T02:00:00Z');
    const serviceStart = Date.parse('2026-11-21T02:10:00.999Z');
    const others = { temporal: startedAt, worker: startedAt + 60_000, store: null };
    const checkpoint = (start: number | null, settings: Parameters<typeof nextCheckpoint>[1]) =>
      nextCheckpoint({ startedAt, serviceStart: start, others }, settings, null, null);
    expect(checkpoint(serviceStart, sync)).toBe('2026-11-21T02:09:00Z');
    expect(checkpoint(null, sync)).toBe('2026-11-21T01:59:00Z');
    expect(checkpoint(serviceStart, { ...sync, clock: 'earliest' })).toBe('2026-11-21T01:59:00Z');
  });
});

describe('The gap of a window', () => {
  const day = 86_400_000;
  const startedAt = Date.parse('2026-11-21T02:00:00Z');
  const at = (ms: number): UtcSeconds => toUtcSeconds(ms);

  it('lies between an old checkpoint and the edge of the window', () => {
    const gap = windowGap(at(startedAt - 100 * day), 90 * day, { startedAt, serviceStart: null });
    expect(gap).toEqual({ from: at(startedAt - 100 * day), to: at(startedAt - 90 * day) });
  });

  it('does not exist up to the edge, without a window, and without a checkpoint', () => {
    const clocks = { startedAt, serviceStart: null };
    expect(windowGap(at(startedAt - 90 * day), 90 * day, clocks)).toBeNull();
    expect(windowGap(at(startedAt - 900 * day), null, clocks)).toBeNull();
    expect(windowGap(null, 90 * day, clocks)).toBeNull();
  });

  it('is measured by the service clock', () => {
    const checkpoint = at(startedAt - 90 * day);
    expect(windowGap(checkpoint, 90 * day, { startedAt, serviceStart: startedAt + day })?.to).toBe(
      at(startedAt - 89 * day),
    );
    expect(
      windowGap(checkpoint, 90 * day, { startedAt: startedAt + day, serviceStart: startedAt }),
    ).toBeNull();
  });
});

describe('The fence', () => {
  const pointer: Pointer = {
    resource: 'tasks',
    runId: OLD_RUN,
    snapshot: 'tasks/x/_datapackage.json' as ObjectKey,
    changes: null,
    publishedAt: OLD_TIME,
    checkpoint: { updatedSince: OLD_TIME },
    rows: 1,
    connection: 'acme',
    baseUrl: 'https://tracker.example.com',
    writer: WRITER,
    manifests: { snapshot: 'a'.repeat(64), changes: null },
    rolledBack: null,
  };
  const mine = {
    connection: 'acme',
    baseUrl: 'https://tracker.example.com',
    resource: 'tasks',
    writer: WRITER,
    displaced: false,
  };
  const beaten = { ...mine, displaced: true };
  const other = { ...mine, connection: 'other' };
  const elsewhere = { ...mine, baseUrl: 'https://elsewhere.example.com' };
  const theirs = { ...pointer, writer: { ...WRITER, workflow: 'another' } };
  const namesake = { ...pointer, writer: { ...WRITER, namespace: 'another' } };

  it.each<
    [string, Pointer | null, Omit<WriterClaim, 'publishedRunId' | 'adopt'>, RunId | null, boolean, string]
  >([
    ['an empty mirror before an empty lake starts', null, mine, null, false, 'empty'],
    ['an empty mirror with --adopt starts in an empty lake', null, mine, null, true, 'empty'],
    ['a mirror whose pointer is gone stops', null, mine, OLD_RUN, false, 'vanished'],
    ['a mirror whose pointer is gone starts over with --adopt', null, mine, OLD_RUN, true, 'empty'],
    ['an empty mirror adopts the existing snapshot', theirs, mine, null, false, 'adopted'],
    ['an empty mirror adopts a run of its own whose result was lost', pointer, mine, null, false, 'adopted'],
    ['an empty mirror that lost a race stops', theirs, beaten, null, false, 'displaced'],
    ['an empty mirror that lost a race takes over with --adopt', theirs, beaten, null, true, 'adopted'],
    ['a mirror that lost a race continues from its own run', pointer, beaten, OLD_RUN, false, 'ours'],
    ['a mirror continues from its own run', pointer, mine, OLD_RUN, false, 'ours'],
    ['a mirror with --adopt continues from its own run', pointer, mine, OLD_RUN, true, 'ours'],
    ['a mirror stops if another one amended its run', theirs, mine, OLD_RUN, false, 'displaced'],
    ['a mirror stops at a pointer of another namespace', namesake, mine, OLD_RUN, false, 'displaced'],
    ['a mirror that finds a run of another one stops', theirs, mine, NEW_RUN, false, 'displaced'],
    [
      'a mirror that finds a run of another one takes over with --adopt',
      theirs,
      mine,
      NEW_RUN,
      true,
      'adopted',
    ],
    ['a mirror that finds an earlier run of its own stops', pointer, mine, NEW_RUN, false, 'restored'],
    [
      'a mirror that finds an earlier run of its own takes over with --adopt',
      pointer,
      mine,
      NEW_RUN,
      true,
      'adopted',
    ],
    ['another connection stops, even with the same run', pointer, other, OLD_RUN, false, 'foreign'],
    ['a connection that was renamed takes over with --adopt', pointer, other, null, true, 'adopted'],
    ['an earlier name takes over again with --adopt', pointer, other, OLD_RUN, true, 'adopted'],
    ['another service stops', pointer, elsewhere, null, false, 'foreign'],
    ['a mirror whose service has moved stops', pointer, elsewhere, OLD_RUN, false, 'foreign'],
    [
      'a mirror whose service has moved takes over with --adopt',
      pointer,
      elsewhere,
      OLD_RUN,
      true,
      'adopted',
    ],
    ['an empty mirror takes over from another URL with --adopt', pointer, elsewhere, null, true, 'adopted'],
  ])('%s', (_, found, who, publishedRunId, adopt, outcome) => {
    const fence = checkFence(found, { ...who, publishedRunId, adopt }, false);
    expect(fence.outcome).toBe(outcome);
    if ('message' in fence) {
      expect(fence.message).toContain(found === null ? `run ${publishedRunId}` : `run ${found.runId}`);
    }
  });

  it('lets a mirror continue from a later run of its own, and not from one of another mirror', () => {
    const claim = { ...mine, publishedRunId: NEW_RUN, adopt: false };
    expect(checkFence(pointer, claim, true).outcome).toBe('adopted');
    expect(checkFence(theirs, claim, true).outcome).toBe('displaced');
  });

  it('round-trips a pointer', () => {
    expect(decodePointer(encodePointer(pointer))).toEqual(pointer);
  });

  it.each([
    '',
    '{',
    'null',
    '[]',
    '{}',
    '{"runId":"x","snapshot":"y"}',
    '{"runId":1,"snapshot":"y","checkpoint":{"updatedSince":"z"}}',
  ])('does not accept %j as a pointer', (body) => {
    expect(() => decodePointer(Buffer.from(body))).toThrow(SyntaxError);
  });
});

describe('A run id', () => {
  it('contains the start time of its run', () => {
    expect(parseRunDate('20261121T020304Z-1a2b3c4d' as RunId)).toBe(Date.parse('2026-11-21T02:03:04Z'));
  });

  it.each([
    '',
    'x',
    '20261121T020304Z-1a2b3c4',
    '20261121T020304Z-1A2B3C4D',
    ' 20261121T020304Z-1a2b3c4d',
    '20261121T020304Z-1a2b3c4d\n',
  ])('is not %j', (text) => {
    expect(isRunId(text)).toBe(false);
    expect(() => parseRunDate(text as RunId)).toThrow(RangeError);
  });

  it('A run id with an invalid date is rejected', () => {
    expect(() => parseRunDate('20261341T020304Z-1a2b3c4d' as RunId)).toThrow(RangeError);
  });
});

describe('The layout', () => {
  it('puts parts in the folder of the UTC date of the nominal start', () => {
    const folder = runFolder('tasks', 'snapshots', dateOf(Date.parse('2026-11-21T23:59:59.999Z')), NEW_RUN);
    const part = inFolder(folder, partName(3, '1a2b3c4d', '.csv.gz'));
    expect(part).toBe(`tasks/snapshots/dt=2026-11-21/run=${NEW_RUN}/part-00003-1a2b3c4d.csv.gz`);
    expect(folderOf(part)).toBe(folder);
    expect(nameOf(part)).toBe('part-00003-1a2b3c4d.csv.gz');
    expect(indexedObjects(part)).toEqual([part, `${folder}/_part-00003-1a2b3c4d.index.json`]);
  });
});

describe('The newer of two rows', () => {
  it.each<[string | null, string | null, boolean | null]>([
    ['2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z', true],
    ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', false],
    ['2026-01-01T02:00:00+02:00', '2026-01-01T00:00:00.000Z', null],
    ['2026-01-01T00:00:00-01:00', '2026-01-01T00:30:00Z', true],
    ['2026-01-02', '2026-01-01T23:59:59Z', true],
    ['2026-01-01T10:00Z', '2026-01-01T09:59:59.999Z', true],
    ['10', '9', true],
    ['-1.5', '-1.25', false],
    ['7', '7.0', null],
    // Values that only their last digits tell apart, such as versions of 64 bits.
    ['9007199254740993', '9007199254740992', true],
    ['1763719200123456788', '1763719200123456789', false],
    ['1763719200.12345678', '1763719200.12345679', false],
    ['2026-01-01T00:00:00.000002Z', '2026-01-01T00:00:00.000001Z', true],
    ['2026-01-01T01:00:00.000001+01:00', '2026-01-01T00:00:00.000001Z', null],
    [null, '2026-01-01', null],
    ['', '1', null],
    ['2026-01-01', null, null],
    // Incomparable: no zone, no date, a number next to a date.
    ['2026-01-02T00:00:00', '2026-01-01T00:00:00', null],
    ['version 12', 'version 5', null],
    ['June', 'May', null],
    ['2026-13-45', '2026-01-01', null],
    ['1700000000', '2026-01-01T00:00:00Z', null],
    ['2026-01-01T00:00:00Z', '1700000000', null],
  ])('%j beside %j: %j', (a, b, expected) => {
    expect(isLater(a, b)).toBe(expected);
  });

  it('is found in fetched records and in rows of CSV alike', () => {
    const row = (...cells: (string | null)[]) =>
      rowText({ runId: OLD_RUN, syncedAt: OLD_TIME, deletedAt: null, cells }, ';');
    const newer = newerRows(2, { ...profileOf().csv, delimiter: ';' });
    expect(newer(row('a;1', 'x\n"', '2', 'y'), row('a;1', null, '1', 'y'))).toBe(true);
    expect(newer(row('a', '', '1'), row('a', 'z', '2'))).toBe(false);
    expect(newer(row('a', '', null), row('a', 'z', '2'))).toBeNull();
  });
});

describe('A manifest of another layout', () => {
  it('is rejected', () => {
    const body = Buffer.from(JSON.stringify({ worktrack: { layout: 1, parts: [] } }));
    expect(() => decodeManifest(body, 'tasks/snapshots/dt=2026-11-21/run=x' as ObjectKey)).toThrow(
      'tasks/snapshots/dt=2026-11-21/run=x/_datapackage.json has layout 1 of the lake',
    );
  });
});
