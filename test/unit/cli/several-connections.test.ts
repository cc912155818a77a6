import { afterEach, describe, expect, it, vi } from 'vitest';
import { screenLines, statusSummary } from '../../../src/cli/inspect/status-command.js';
import { readWait } from '../../../src/cli/runs/follow-session.js';
import { resultSummary } from '../../../src/cli/runs/result-lines.js';
import { doctorScreen } from '../../../src/cli/setup/doctor-command.js';
import { EXIT, UsageError, worstExitCode } from '../../../src/cli/shared/choose-exit-code.js';
import {
  type ConnectionSummary,
  connectionLines,
  eachConnection,
  PARALLEL_CONNECTIONS,
  totalLine,
} from '../../../src/cli/shared/each-connection.js';
import { OutOfReachError } from '../../../src/core/reachability.js';
import type { ConnectionSettings } from '../../../src/core/settings.js';
import { ok, problem } from '../../../src/doctor/index.js';
import type { ResourceStatus } from '../../../src/temporal/status/status.js';
import { failed, report, resourceStatus } from './support.js';

const NOW = Date.UTC(2026, 10, 21);
const connection = (name: string) => ({ name }) as ConnectionSettings;
const many = Array.from({ length: 300 }, (_, i) => connection(`c${String(i + 1).padStart(3, '0')}`));
const summary = (changes: Partial<ConnectionSummary> = {}): ConnectionSummary => ({
  ...{ name: 'acme', code: EXIT.done, problem: false, state: 'published', detail: '4 resources', lines: [] },
  ...changes,
});

describe('a command on several connections', () => {
  afterEach(() => {
    delete process.env.WORKTRACK_REACH_TIMEOUT;
  });

  it('works on a bounded number at a time, and ends in their order although some fail', async () => {
    let [running, most] = [0, 0];
    const ended = await eachConnection(many, async ({ name }) => {
      most = Math.max(most, ++running);
      await new Promise((done) => setImmediate(done));
      running--;
      if (name === 'c007') throw new UsageError('no such resource');
      return name;
    });
    expect(most).toBe(PARALLEL_CONNECTIONS);
    expect(ended).toHaveLength(300);
    expect(ended[5]).toMatchObject({ result: 'c006', failure: null });
    expect(ended[6]).toMatchObject({ result: null, failure: { code: 2 } });
  });

  it('tries other servers only briefly once one is unreachable', async () => {
    const limits: number[] = [];
    const ended = await eachConnection(many.slice(0, 2 * PARALLEL_CONNECTIONS), async (_, timeoutMs) => {
      limits.push(timeoutMs);
      throw new OutOfReachError('the lake does not answer');
    });
    expect(ended.every(({ failure }) => failure?.code === EXIT.outOfReach)).toBe(true);
    expect(limits[0]).toBe(60_000);
    expect(limits.at(-1)).toBe(5_000);
  });

  it('ends with the worst exit code', () => {
    expect(worstExitCode([])).toBe(0);
    expect(worstExitCode([0, 1, 4, 0])).toBe(4);
    expect(worstExitCode([4, 2, 1])).toBe(2);
    expect(worstExitCode([2, 3, 0])).toBe(3);
    expect(worstExitCode([3, 130])).toBe(130);
  });

  it('prints one line per connection first, and the details of problems below', () => {
    const bad = summary({
      name: 'beta',
      code: 1,
      problem: true,
      state: 'failed',
      lines: ['tasks: it broke'],
    });
    const good = summary({ lines: ['tasks  published'] });
    expect(connectionLines([good, bad], {})).toEqual([
      'acme  published  4 resources',
      'beta  failed     4 resources',
      '',
      'beta',
      '  tasks: it broke',
    ]);
    expect(connectionLines([good, bad], { details: true })).toContain('  tasks  published');
    expect(connectionLines([good, bad], { failing: true })[0]).toBe('beta  failed  4 resources');
    expect(totalLine([good, good, bad])).toBe('3 connections: 2 published, 1 failed');
  });

  it('prints a note that several connections share once', () => {
    const noted = ['a', 'b', 'c', 'd', 'e'].map((name) =>
      summary({ name, notes: ['warning: tasks: a gap'] }),
    );
    expect(connectionLines(noted, {}).slice(5)).toEqual(['', 'a, b, c and 2 more: warning: tasks: a gap']);
  });

  it('keeps its lines as narrow as the terminal', () => {
    const long = summary({ problem: true, state: 'failed', detail: 'the service answered 503 '.repeat(9) });
    expect(connectionLines([long], {}, 80)[0]).toHaveLength(80);
  });

  it('shows the figures of a published export, its warnings, and the cause of a failed one', () => {
    const warned = resultSummary(
      { outcome: 'published', runs: [report({ warnings: ['a gap'] })] },
      's3://lake',
    );
    expect(warned).toMatchObject({ problem: false, notes: ['warning: tasks: a gap'] });
    expect(warned.detail).toContain('1 resource, 10 rows');
    const refused = resultSummary({ outcome: 'refused', runs: [failed('Refused', 'no plan')] }, 's3://lake');
    expect(refused).toMatchObject({ code: 3, problem: true, state: 'refused', detail: 'tasks: no plan' });
  });

  it('waits no longer than --timeout, which must be a duration', () => {
    expect(readWait({})).toBeNull();
    expect(readWait({ timeout: '30m' })).toBe(1_800_000);
    expect(() => readWait({ timeout: '25d' })).toThrow(/at most 24d/);
    expect(() => readWait({ timeout: 'soon' })).toThrow(/--timeout must be a duration such as 30m or 2h/);
    expect(() => readWait({ timeout: '1m', wait: false })).toThrow(/exclude each other/);
  });
});

describe('the status of many connections', () => {
  const stateOf = (...resources: ResourceStatus[]) =>
    statusSummary({ name: 'acme', resources, schedule: null }, NOW);

  it('is the state of the worst resource, with its cause', () => {
    expect(stateOf(resourceStatus())).toMatchObject({ state: 'published', problem: false });
    const cause = 'it broke';
    const broken = resourceStatus({ name: 'projects', state: 'failed', isProblem: true, cause });
    const old = resourceStatus({ state: 'stale', isProblem: true, cause: 'no recent run was published' });
    expect(stateOf(resourceStatus(), old, broken)).toMatchObject({ state: 'failed', problem: true });
    expect(stateOf(resourceStatus(), broken).detail).toContain('projects: it broke');
    expect(stateOf(old)).toMatchObject({ state: 'stale', problem: true });
  });

  it('fits on one screen, however many connections have a problem', () => {
    const all = many.map(({ name }) =>
      summary({ name, problem: true, state: 'failed', detail: 'x'.repeat(200) }),
    );
    const lines = screenLines(all, { width: 80, height: 24 });
    expect(lines.length).toBeLessThan(24);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(lines[0]).toBe('300 connections: 300 failed');
    expect(lines.join('\n')).toMatch(/and 2\d\d more with a problem; --failing lists all/);
  });
});

describe('the findings of doctor about many connections', () => {
  it('fit on one screen, with the first cause and remedy of each check', () => {
    const checks = ['key', 'service', 'lake', 'clock', 'page size', 'masking'] as const;
    vi.stubEnv('NO_COLOR', '1');
    const findings = many.flatMap(({ name }, i) =>
      checks.map((check) => ({
        connection: name,
        ...(check === 'key' && i > 100
          ? problem(check, 'configuration', `KEY_${i} is not set. ${'Long. '.repeat(30)}`, `Set KEY_${i}.`)
          : ok(check, 'good')),
      })),
    );
    const lines = doctorScreen(findings, { width: 80, height: 24 });
    expect(lines.length).toBeLessThan(24);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    const text = lines.join('\n');
    expect(text).toMatch(/problem +key +199 connections/);
    expect(text).toMatch(/ok +lake +300 connections/);
    expect(text).toContain('such as c102: KEY_101 is not set.');
    expect(text).toContain('199 problems, 0 warnings.');
  });
});
