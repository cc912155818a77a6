import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import type { Meter } from '../../../src/core/metrics.js';
import { encodePointer, type Pointer } from '../../../src/lake/documents/pointer.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import type { Connections } from '../../../src/temporal/worker/connections.js';
import { RetryWatch, startGauges } from '../../../src/temporal/worker/gauges.js';

const MINUTE = 60_000;
const CHECKPOINT = '2026-11-30T00:00:00Z';
const pointer = {
  ...{ resource: 'tasks', runId: '20261130T000100Z-aaaaaaaa', snapshot: 'tasks/snapshots/a', rows: 3 },
  checkpoint: { updatedSince: CHECKPOINT },
} as unknown as Pointer;
const body = encodePointer(pointer);

type Read = (signal: AbortSignal | undefined) => Promise<{ body: Buffer; etag: string }>;

/** A store that answers after this time. */
const answers =
  (afterMs: number): Read =>
  async () => {
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    return { body, etag: 'a' };
  };
/** A store that accepts connections and never answers. */
const hangs: Read = (signal) =>
  new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
/** A read that no signal ends, as that of a network drive. */
const hangsForever: Read = () => new Promise(() => {});

/** Gauges over connections with these stores, and three resources each. */
function start(stores: Readonly<Record<string, Read>>, client: unknown = null) {
  const resources = '[projects, tasks, time-entries]';
  const lines = Object.keys(stores).map(
    (name) =>
      `  ${name}: { baseUrl: https://t.example, apiKey: { env: KEY }, lake: { url: "s3://lake/${name}" }, resources: ${resources} }`,
  );
  const settings = parseSettings(['connections:', ...lines, ''].join('\n'), 'worker.yaml');
  const reads: string[] = [];
  const measured = new Map<string, number>();
  const meter: Meter = {
    record: (metric, value, labels) => {
      const { connection, resource } = labels as unknown as Record<string, string>;
      measured.set(`${metric} ${connection}/${resource}`, value);
    },
  };
  const connections = {
    ...{ settings, meter, now: Date.now },
    during: (_activity: string, _input: unknown, work: () => Promise<unknown>) => work(),
    connection(name: string) {
      const readIfExists: ObjectStore['readIfExists'] = (key, { signal } = {}) => {
        reads.push(`${name}/${key}`);
        return stores[name]!(signal);
      };
      return { store: { url: `s3://${name}`, readIfExists } };
    },
  } as unknown as Connections;
  const retries = new RetryWatch(meter);
  const errors: string[] = [];
  const gauges = startGauges({
    ...{ connections, meter, retries, taskQueue: 'worktrack' },
    client: () => client as never,
    onError: (message) => errors.push(message),
  });
  const freshness = (connection: string, resource = 'tasks') =>
    measured.get(`freshness ${connection}/${resource}`) ?? null;
  return { gauges, reads, measured, errors, retries, freshness };
}

describe('the gauges of a worker', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: Date.parse(CHECKPOINT) + 10 * MINUTE });
  });
  afterEach(() => vi.useRealTimers());

  it.each([
    ['an endpoint that never answers', hangs],
    ['a read that cannot be ended', hangsForever],
  ])('show other connections in spite of %s', async (_, hanging) => {
    const names = ['a', 'b', 'c'].map((name) => [name, hanging] as const);
    const { errors, retries, measured, freshness } = start({
      ...Object.fromEntries(names),
      acme: answers(1),
    });
    retries.failed('step', { connection: 'acme', resource: 'tasks' }, 1);
    await vi.advanceTimersByTimeAsync(1000);
    expect(freshness('acme')).toBeCloseTo(600, 0);
    await vi.advanceTimersByTimeAsync(MINUTE);
    expect(freshness('acme')).toBeCloseTo(660, 0);
    expect(measured.get('retrying acme/tasks')).toBeCloseTo(60, 0);
    expect(freshness('a')).toBeNull();
    expect(errors).toEqual(
      ['a', 'b', 'c'].map(
        (name) => `cannot measure the freshness of ${name}/projects: no response within 10 s`,
      ),
    );
  });

  it('are measured in the same round as many lakes that hang', async () => {
    const names = Array.from({ length: 16 }, (_, n) => [`silent-${n}`, hangs] as const);
    const { freshness } = start({ ...Object.fromEntries(names), acme: answers(1) });
    await vi.advanceTimersByTimeAsync(21_000);
    expect(freshness('acme')).not.toBeNull();
  });

  it('request nothing more of a lake while a read of it hangs', async () => {
    const { reads } = start({ drive: hangsForever, acme: answers(1) });
    await vi.advanceTimersByTimeAsync(10 * MINUTE + 1000);
    expect(reads.filter((key) => key.startsWith('drive/'))).toEqual(['drive/projects/latest.json']);
    expect(reads.filter((key) => key === 'acme/tasks/latest.json')).toHaveLength(11);
  });

  it('measure a lake again once it answers, and all resources of a slow one', async () => {
    let isSilent = true;
    const recovers: Read = (signal) => (isSilent ? answers(5 * MINUTE) : answers(5000))(signal);
    const { freshness } = start({ acme: recovers });
    await vi.advanceTimersByTimeAsync(MINUTE);
    expect(freshness('acme', 'projects')).toBeNull();
    isSilent = false;
    // The late answer, and the next round.
    await vi.advanceTimersByTimeAsync(4 * MINUTE + 1000);
    expect(freshness('acme', 'projects')).toBeCloseTo(900, 0);
    await vi.advanceTimersByTimeAsync(MINUTE);
    for (const resource of ['projects', 'tasks', 'time-entries'])
      expect(freshness('acme', resource), resource).toBeGreaterThan(900);
  });

  it('do not wait for a Temporal that does not answer', async () => {
    const list = async function* () {
      await new Promise(() => {});
    };
    const { freshness } = start({ acme: answers(1) }, { workflow: { list } });
    await vi.advanceTimersByTimeAsync(MINUTE + 1000);
    expect(freshness('acme')).toBeCloseTo(660, 0);
  });

  it.each([
    ['hangs', hangs],
    ['cannot be ended', hangsForever],
    ['answers later', answers(5000)],
  ])('stop immediately and record nothing more, even if a read %s', async (_, read) => {
    const { gauges, reads, measured, errors } = start({ acme: read });
    await vi.advanceTimersByTimeAsync(1000);
    const before = new Map(measured);
    expect(gauges.stop()).toBeUndefined();
    await vi.advanceTimersByTimeAsync(5 * MINUTE);
    expect(measured).toEqual(before);
    expect(reads).toHaveLength(1);
    expect(errors).toEqual([]);
  });
});
