import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { failedByPause, openPauseLog } from '../../../src/cli/runs/local-export.js';
import type { RunId } from '../../../src/core/brands.js';
import type { ExportResult, RunError, RunReport } from '../../../src/core/contract/index.js';

const HOUR = 3_600_000;
const START = Date.parse('2026-11-21T02:00:00Z');

describe('the pauses of export --local', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'worktrack-pauses-'));
    vi.useFakeTimers({ now: START });
  });
  afterEach(() => {
    vi.useRealTimers();
    rmSync(folder, { recursive: true });
  });

  it('are the periods between two commands, even after one that was killed', () => {
    const first = openPauseLog(folder);
    vi.advanceTimersByTime(HOUR);
    expect(first.since(START)).toBe(0);
    // Killed: the log is not closed, and its last heartbeat was seconds ago.
    vi.setSystemTime(START + 3 * HOUR);
    const second = openPauseLog(folder);
    expect(second.since(START)).toBe(2 * HOUR);
    expect(second.since(START + 2 * HOUR)).toBe(HOUR);
    expect(second.since(START + 3 * HOUR)).toBe(0);
    second.close();
    first.close();
  });

  it('are also the periods when the machine slept', () => {
    const log = openPauseLog(folder);
    vi.setSystemTime(START + 8 * HOUR);
    expect(log.since(START)).toBe(8 * HOUR);
    log.close();
  });

  it('are not known if their file is not valid', () => {
    writeFileSync(join(folder, 'pauses.json'), '{"aliveAt": "x"}');
    const log = openPauseLog(folder);
    expect(log.since(0)).toBe(0);
    log.close();
  });
});

describe('a failed export', () => {
  const runId = '20261121T020000Z-1a2b3c4d' as RunId;
  const run = (type: RunError['type'], more: Partial<RunReport> = {}): RunReport => ({
    ...{
      resource: 'tasks',
      outcome: 'failed',
      runId,
      rows: null,
      counts: null,
      snapshot: null,
      warnings: [],
    },
    error: { type, message: 'gave up: no answer' },
    ...more,
  });
  const good = { ...run('Failed'), outcome: 'published', error: null } as const;
  const byPause = (
    runs: RunReport[],
    pausedHours: number,
    afterHours: number,
    outcome: ExportResult['outcome'] = 'failed',
  ) => failedByPause({ outcome, runs }, START, START + afterHours * HOUR, 6 * HOUR, () => pausedHours * HOUR);

  it('failed because of a pause longer than giveUpAfter', () => {
    expect(byPause([run('Transient'), good], 7, 8)).toBe(true);
    expect(byPause([run('Transient')], 7, 20)).toBe(true);
  });

  it('failed because of a pause if giveUpAfter was not reached without it', () => {
    expect(byPause([run('Transient')], 3, 7)).toBe(true);
  });

  it('did not fail because of a pause if giveUpAfter was reached without it', () => {
    expect(byPause([run('Transient')], 0, 6.1)).toBe(false);
    expect(byPause([run('Transient')], 1, 7.5)).toBe(false);
  });

  it('did not fail because of a pause if it failed before giveUpAfter', () => {
    expect(byPause([run('Failed')], 1, 2)).toBe(false);
  });

  it('did not fail because of a pause if a run has another reason', () => {
    expect(byPause([run('BrokenPromise')], 7, 8)).toBe(false);
    expect(byPause([run('Transient'), run('Lake')], 7, 8)).toBe(false);
    expect(byPause([run('Transient'), run('Refused', { outcome: 'refused' })], 7, 8, 'refused')).toBe(false);
    expect(byPause([good], 7, 8, 'published')).toBe(false);
  });

  it('failed because of a pause if no run had started before it', () => {
    expect(byPause([run('Failed', { runId: null })], 1, 1.1)).toBe(true);
    expect(byPause([run('Failed', { runId: null })], 0, 1.1)).toBe(false);
  });
});
