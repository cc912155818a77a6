import { describe, expect, it, vi } from 'vitest';
import {
  causeLines,
  exportProgressOn,
  RateMeter,
  resourceLine,
} from '../../../src/cli/progress/progress-views.js';
import { report, resource, view } from './support.js';

const NOW = Date.UTC(2026, 10, 21);

describe('a progress line', () => {
  it('shows the stage, pages, rows and rows per second', () => {
    const line = resourceLine(resource({ stage: 'read', pages: 12, rows: 12_000 }), 4100.4, NOW);
    expect(line).toMatch(/^tasks +read +12 pages +12,000 rows read +4,100 rows\/s$/);
  });

  it('shows the rows of the snapshot once it is published, as the summary does', () => {
    const done = resource({ stage: 'published', pages: 1, rows: 12, report: report({ rows: 10_000 }) });
    expect(resourceLine(done, null, NOW)).toMatch(/^tasks +published +1 page +10,000 rows +12 read$/);
  });

  it('leaves the cause of a failure to the lines below, at most three', () => {
    const failure = {
      message: 'the service answered 503 '.repeat(40),
      attempt: 2,
      retry: 'waiting',
    } as const;
    const failing = resource({ stage: 'read', failure });
    expect(resourceLine(failing, null, NOW, 'below')).toMatch(/attempt 2 failed, will retry$/);
    const lines = causeLines(failing, 79);
    expect(lines).toHaveLength(3);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(79);
  });

  it('shows how long the service asked to wait', () => {
    const waiting = resource({ stage: 'read', waitingUntil: NOW + 12_300 });
    expect(resourceLine(waiting, null, NOW)).toContain('waiting 13 s, as requested by the service');
    expect(resourceLine({ ...waiting, waitingUntil: NOW - 1 }, null, NOW)).not.toContain('waiting');
  });

  it('shows the failure of the last attempt on one line', () => {
    const trouble = { message: 'the service answered 503\nat once', attempt: 4, retry: 'waiting' } as const;
    const line = resourceLine(resource({ stage: 'read', failure: trouble }), 10, NOW);
    expect(line).toContain('attempt 4 failed, will retry: the service answered 503 at once');
    expect(line).not.toContain('rows/s');
  });
});

describe('the rate', () => {
  it('covers the last seconds and restarts with a new run', () => {
    const meter = new RateMeter();
    expect(meter.rate('tasks', 0, 0)).toBeNull();
    expect(meter.rate('tasks', 1000, 1000)).toBe(1000);
    expect(meter.rate('tasks', 1000, 20_000)).toBeNull();
    expect(meter.rate('tasks', 5, 21_000)).toBeNull();
  });
});

describe('progress without a terminal', () => {
  function plain() {
    let text = '';
    const progress = exportProgressOn({ write: (more) => (text += more) });
    return { progress, lines: () => text.split('\n').filter((line) => line !== '') };
  }

  it('prints a line when the stage changes and every few seconds, without control characters', () => {
    const { progress, lines } = plain();
    progress.show(view([resource()]), NOW);
    for (let ms = 0; ms <= 6000; ms += 500) {
      progress.show(view([resource({ stage: 'read', pages: ms, rows: ms })]), NOW + ms);
    }
    progress.show(view([resource({ stage: 'published', report: report() })]), NOW + 6500);
    progress.show(view([resource({ stage: 'published', report: report() })]), NOW + 60_000);
    expect(lines().map((line) => line.split(/ +/)[1])).toEqual(['read', 'read', 'published']);
    expect(lines().join('')).not.toContain('\x1b');
  });

  it('repeats an unchanged line only once a minute', () => {
    const { progress, lines } = plain();
    const still = view([resource({ stage: 'publish', pages: 1, rows: 5 })]);
    for (let s = 0; s <= 61; s++) progress.show(still, NOW + s * 1000);
    expect(lines()).toHaveLength(2);
  });

  it('prints nothing before there is a page, except a cause or a wait', () => {
    const { progress, lines } = plain();
    const began = { pages: 0, rows: 0 } as const;
    for (const stage of ['waiting', 'prepare', 'read'] as const)
      progress.show(view([resource({ ...began, stage })]), NOW);
    expect(lines()).toEqual([]);
    progress.show(view([resource({ ...began, stage: 'read', waitingUntil: NOW + 9_000 })]), NOW);
    progress.show(view([resource({ ...began, stage: 'failed', report: report({ rows: null }) })]), NOW);
    expect(lines()).toEqual([
      expect.stringMatching(/^tasks +read +waiting 9 s, as requested by the service$/),
      expect.stringMatching(/^tasks +failed$/),
    ]);
  });

  it('reports once that no worker is polling, with what to do, and when one polls', () => {
    const { progress, lines } = plain();
    const absent = view([], { worker: { kind: 'no-worker', taskQueue: 'worktrack', others: [] } });
    progress.show(absent, NOW);
    progress.show(absent, NOW + 60_000);
    progress.show(view([]), NOW + 61_000);
    expect(lines()).toEqual([
      expect.stringMatching(/No worker.*"worktrack".*worktrack worker/),
      'A worker answers now.',
    ]);
  });

  it('wraps that no worker is polling at the width of $COLUMNS', () => {
    vi.stubEnv('COLUMNS', '50');
    const { progress, lines } = plain();
    progress.show(view([], { worker: { kind: 'no-worker', taskQueue: 'worktrack', others: [] } }), NOW);
    vi.unstubAllEnvs();
    expect(lines().length).toBeGreaterThan(1);
    expect(Math.max(...lines().map((line) => line.length))).toBeLessThanOrEqual(50);
  });
});

describe('progress on a terminal', () => {
  it('is redrawn in place and never wider than the terminal', () => {
    let text = '';
    const progress = exportProgressOn({ isTTY: true, columns: 40, write: (more) => (text += more) });
    const busy = resource({
      stage: 'read',
      failure: { message: 'x'.repeat(100), attempt: 2, retry: 'running' },
    });
    progress.show(view([busy, busy]), NOW);
    text = '';
    progress.show(view([busy, busy]), NOW + 500);
    // Each resource has a line, and its cause below.
    expect(text.startsWith('\x1b[4A\r\x1b[J')).toBe(true);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression removes control characters
    const shown = text.replace(/\x1b\[[0-9;]*[A-Za-z]|\r/g, '').split('\n');
    expect(Math.max(...shown.map((line) => line.length))).toBeLessThan(40);
  });
});
