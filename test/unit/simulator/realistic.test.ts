import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Simulator, startSimulator } from '../../../src/simulator/index.js';

interface Entry {
  readonly projectId: string;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly createdAt: string;
  readonly durationSeconds: number;
}

describe('realistic data', () => {
  let simulator: Simulator;
  beforeAll(async () => {
    const counts = {
      projects: 18,
      'time-entries': 800,
      members: 4,
      clients: 2,
      tasks: 20,
      'calendar-entries': 40,
    };
    simulator = await startSimulator({ data: 'realistic', counts, now: Date.UTC(2026, 10, 22, 3) });
  });
  afterAll(() => simulator.close());

  const records = <T>(resource: string): T[] =>
    simulator.admin.records(resource).map((text) => JSON.parse(text) as T);

  it('has work on weekdays in the daytime, which ended before its record was created', () => {
    const entries = records<Entry>('time-entries');
    expect(entries).toHaveLength(800);
    for (const { startedAt, endedAt, createdAt, durationSeconds } of entries) {
      const start = new Date(startedAt);
      expect([1, 2, 3, 4, 5]).toContain(start.getUTCDay());
      expect(start.getUTCHours()).toBeGreaterThanOrEqual(8);
      expect(start.getUTCHours()).toBeLessThan(16);
      expect(Date.parse(endedAt) - start.getTime()).toBe(durationSeconds * 1000);
      expect(endedAt <= createdAt).toBe(true);
    }
    expect(simulator.admin.records('time-entries', 'listed')).toHaveLength(800);
  });

  it('has names of projects and people, each once, and only printable ASCII', () => {
    for (const resource of ['projects', 'members']) {
      const names = records<{ name: string }>(resource).map(({ name }) => name);
      expect(new Set(names).size).toBe(names.length);
      expect(names.join('')).toMatch(/^[\x20-\x7e]+$/);
    }
    expect(records<{ name: string }>('projects')[0]?.name).toBe('Website relaunch');
    expect(records<{ name: string }>('projects')[17]?.name).toBe('Mobile app 2');
  });

  it('gives a few projects most of the work', () => {
    const counts = new Map<string, number>();
    for (const { projectId } of records<Entry>('time-entries'))
      counts.set(projectId, (counts.get(projectId) ?? 0) + 1);
    const sorted = [...counts.values()].sort((a, b) => b - a);
    expect(sorted.slice(0, 3).reduce((sum, one) => sum + one, 0)).toBeGreaterThan(250);
  });
});
