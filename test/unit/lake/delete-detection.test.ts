import { describe, expect, it } from 'vitest';
import { statusLines } from '../../../src/cli/inspect/status-lines.js';
import { diagnosticLines } from '../../../src/cli/runs/result-lines.js';
import { parseSettings } from '../../../src/config/index.js';
import type { DeleteDetection, DeletesProblem, RunReport } from '../../../src/core/contract/index.js';
import { basisText, deletesNote, isSameDetection } from '../../../src/core/delete-detection.js';
import { detectionOf } from '../../../src/run/delete-rules.js';
import { resourceStatus } from '../cli/support.js';

function resource(yaml: string) {
  const text = `connections: { acme: { baseUrl: "https://tracker.example.com", apiKey: { env: KEY }, lake: { url: "s3://company-lake/b" }, resources: [${yaml}] } }`;
  return parseSettings(text, 'worktrack.yaml').connections[0]!.resources[0]!;
}

const LOOKED: readonly DeletesProblem[] = [];

describe('what deletes are concluded from', () => {
  it.each([
    ['projects', null, 'by-id', 'by id', null],
    ['tasks', null, 'two-readings', 'by two readings', null],
    ['{ name: tasks, deletes: keep }', null, 'none', 'not detected', null],
    [
      'time-entries',
      null,
      'none',
      'not detected',
      /^deletes are not detected, because .* no `windowField` is set; .*; 7 rows are no longer listed$/,
    ],
    [
      '{ name: time-entries, windowField: day }',
      LOOKED,
      'two-readings',
      'by the date in "day"',
      /moved out of the window looks deleted; `fetchById: true`/,
    ],
    ['{ name: time-entries, windowField: day, fetchById: true }', LOOKED, 'by-id', 'by id', null],
    ...['calendar-entries', 'time-entries, key: [a, b]', 'time-entries, columns: { mask: { id: hash } }'].map(
      (name) => [
        ...[`{ name: ${name}, windowField: day, fetchById: true }`, LOOKED],
        ...['two-readings', 'by the date in "day"', /moved out of the window looks deleted$/],
      ],
    ),
    [
      '{ name: time-entries, windowField: day }',
      [{ kind: 'not-dates', form: '00/00/0000' }],
      'none',
      'not detected',
      /"day" has a value that is neither ISO 8601 nor an epoch number; 7 rows/,
    ],
    [
      '{ name: time-entries, windowField: day }',
      [{ kind: 'no-dates' }],
      'none',
      'not detected',
      /no row has a value in `windowField` "day"/,
    ],
    ['projects', [{ kind: 'endpoint' }], 'two-readings', 'by two readings', null],
    [
      '{ name: time-entries, windowField: day, fetchById: true }',
      [{ kind: 'endpoint' }],
      'none',
      'not detected',
      /GET by id does not find records that exist/,
    ],
    ['tasks', [{ kind: 'empty-list', rows: 3 }], 'two-readings', 'by two readings', null],
  ] as [string, readonly DeletesProblem[] | null, string, string, RegExp | null][])(
    'the conclusion of %s after %j is %s',
    (yaml, problems, basis, text, note) => {
      const detection = detectionOf(resource(yaml), null, { problems, notListed: 7 });
      expect([detection.basis, detection.notListed, basisText(detection)]).toEqual([basis, 7, text]);
      expect(deletesNote(detection)).toEqual(note === null ? null : expect.stringMatching(note));
    },
  );

  it('has a note that counts rows only if there are any', () => {
    const detection = detectionOf(resource('time-entries'), null, { problems: null, notListed: 0 });
    expect(deletesNote(detection)).not.toContain('no longer listed');
  });

  it('is kept by increments until a run looks again, or until the setting changes', () => {
    const windowed = resource('{ name: time-entries, windowField: day }');
    const found = detectionOf(windowed, null, { problems: [{ kind: 'not-dates', form: 'x' }], notListed: 3 });
    const increment = { problems: null, notListed: null };
    expect(detectionOf(windowed, found, increment)).toEqual(found);
    expect(detectionOf(resource('{ name: time-entries, windowField: at }'), found, increment)).toMatchObject({
      ...{ basis: 'two-readings', windowField: 'at', reason: null, notListed: 3 },
    });
    expect(detectionOf(windowed, found, { problems: [], notListed: 4 })).toMatchObject({
      basis: 'two-readings',
    });
    const broken = detectionOf(resource('projects'), null, {
      problems: [{ kind: 'endpoint' }],
      notListed: 0,
    });
    expect(detectionOf(resource('projects'), broken, increment)).toEqual(broken);
    expect(
      detectionOf(resource('{ name: projects, fetchById: false }'), broken, increment).reason,
    ).toBeNull();
  });

  it('does not grow with the length of a name', () => {
    const field = 'd'.repeat(500);
    const detection = detectionOf(resource(`{ name: time-entries, windowField: ${field} }`), null, {
      ...{ problems: [{ kind: 'no-dates' }], notListed: 1 },
    });
    expect(JSON.stringify(detection).length).toBeLessThan(400);
    expect(deletesNote(detection)!.length).toBeLessThan(400);
  });
});

describe('the limits of deletes', () => {
  const detections: Record<string, DeleteDetection> = {
    projects: { basis: 'by-id', windowField: null, reason: null, notListed: 0 },
    tasks: { basis: 'two-readings', windowField: null, reason: null, notListed: 0 },
    'time-entries': { basis: 'none', windowField: null, reason: 'no-window-field', notListed: 12 },
    'calendar-entries': { basis: 'two-readings', windowField: 'startsAt', reason: null, notListed: 1 },
  };

  it('are in the status in one line for all resources, and one for each limit', () => {
    const resources = Object.entries(detections).map(([name, deletes]) => resourceStatus({ name, deletes }));
    const lines = statusLines([{ name: 'acme', resources, schedule: null }], Date.now());
    expect(lines).toContain(
      '  deletes: projects by id; tasks by two readings; time-entries not detected; calendar-entries by the date in "startsAt"',
    );
    const notes = lines.filter((line) => line.startsWith('  note: '));
    expect(notes).toEqual([
      expect.stringMatching(/time-entries: deletes are not detected.*12 rows are no longer listed$/),
      expect.stringMatching(/calendar-entries: .*looks deleted/),
    ]);
    expect(lines.join('\n')).not.toContain('warning');
  });

  it('are notes of an export, and no warnings', () => {
    const runs = Object.entries(detections).map(
      ([name, deletes]): RunReport => ({
        ...{ resource: name, outcome: 'published', runId: null, rows: 3, counts: null, snapshot: null },
        ...{ warnings: [], deletes, error: null },
      }),
    );
    const lines = diagnosticLines({ outcome: 'published', runs });
    expect(lines).toEqual([
      expect.stringMatching(/^note: time-entries: deletes are not detected.*12 rows are no longer listed$/),
      expect.stringMatching(/^note: calendar-entries: .*looks deleted/),
    ]);
    const again = runs.map((run) => ({ ...run, deletesAsBefore: true as const }));
    expect(diagnosticLines({ outcome: 'published', runs: again })).toEqual([]);
  });

  it('are the same until the basis, the field or the reason changes', () => {
    const known = detections['time-entries']!;
    expect(isSameDetection(known, { ...known, notListed: 13 })).toBe(true);
    for (const before of [null, undefined, ...Object.values(detections).filter((one) => one !== known)])
      expect(isSameDetection(before, known)).toBe(false);
  });
});
