import { afterEach, describe, expect, it, vi } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import type { Settings } from '../../../src/core/settings.js';
import { type Connections, openConnections } from '../../../src/temporal/worker/connections.js';
import { withLines } from '../config/fixtures.js';

const settingsWith = (lines: string): Settings => parseSettings(withLines(lines), 'worker.yaml');
const OLD = 'sync: { pageSize: 100 }';
const NEW = 'sync: { pageSize: 200 }';
const run = (runId: string) => ({ connection: 'acme', resource: 'tasks', runId });

describe('the connections of a worker after a reload', () => {
  let connections: Connections;
  afterEach(() => connections.close());

  const pageSize = (activity: string, input: object): Promise<number> =>
    connections.during(activity, input, async () => connections.connection('acme').settings.sync.pageSize);

  it('stay the same for a run in progress, and are new for the next run', async () => {
    connections = openConnections(settingsWith(OLD));
    expect(await pageSize('worktrack.run', run('a'))).toBe(100);
    connections.replace(settingsWith(NEW));
    expect(await pageSize('worktrack.read', run('a'))).toBe(100);
    expect(await pageSize('worktrack.planExport', { connection: 'acme' })).toBe(200);
    expect(await pageSize('worktrack.run', run('b'))).toBe(200);
    expect(await pageSize('worktrack.sweep', run('a'))).toBe(100);
    // The run has ended; only a new one could have this id.
    expect(await pageSize('worktrack.read', run('a'))).toBe(200);
  });

  it('are new for each attempt of a run that could not begin', async () => {
    connections = openConnections(settingsWith(OLD));
    expect(await pageSize('worktrack.run', run('a'))).toBe(100);
    connections.replace(settingsWith(NEW));
    expect(await pageSize('worktrack.run', run('a'))).toBe(200);
  });

  it('stay the same during an activity that belongs to no run', async () => {
    connections = openConnections(settingsWith(OLD));
    await connections.during('worktrack.notify', { connection: 'acme' }, async () => {
      const { client } = connections.connection('acme');
      connections.replace(settingsWith(NEW));
      expect(connections.connection('acme').client).toBe(client);
    });
    expect(connections.connection('acme').settings.sync.pageSize).toBe(200);
  });

  it.each(['notify', 'purgeRecord', 'followTable'])(
    'are not kept for a run that has only the activity %s',
    async (activity) => {
      connections = openConnections(settingsWith(OLD));
      expect(await pageSize(`worktrack.${activity}`, run('a'))).toBe(100);
      connections.replace(settingsWith(NEW));
      expect(await pageSize('worktrack.read', run('a'))).toBe(200);
    },
  );

  it('stay the same for a run that waits as long as any retry may, and are then forgotten', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      connections = openConnections(settingsWith(OLD));
      for (const id of ['waits', 'ended']) await pageSize('worktrack.run', run(id));
      connections.replace(settingsWith(NEW));
      vi.advanceTimersByTime(23 * 3_600_000);
      expect(await pageSize('worktrack.read', run('waits'))).toBe(100);
      vi.advanceTimersByTime(2 * 3_600_000);
      expect(await pageSize('worktrack.read', run('waits'))).toBe(100);
      expect(await pageSize('worktrack.read', run('ended'))).toBe(200);
    } finally {
      vi.useRealTimers();
    }
  });

  it('keep their rate budget if nothing has changed for them', () => {
    connections = openConnections(settingsWith(OLD));
    const before = connections.connection('acme');
    connections.replace(settingsWith(OLD));
    expect(connections.connection('acme')).toBe(before);
  });

  it('are named with the worker and its file if they are missing', () => {
    connections = openConnections(settingsWith(OLD));
    const message = `worker.yaml of worker ${process.pid}@`;
    expect(() => connections.connection('other')).toThrow(message);
    expect(() => connections.connection('other')).toThrow('has no connection "other"; it has acme');
  });
});
