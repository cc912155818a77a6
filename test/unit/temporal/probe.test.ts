import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, expect, it, vi } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import { WriteTrial } from '../../../src/run/prepare/conditional-writes.js';
import { openConnections } from '../../../src/temporal/worker/connections.js';

let folder = '';
afterEach(() => rm(folder, { recursive: true, force: true }));

it('tries the conditional writes of a lake once per process, even after the connection was idle', async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-probe-'));
  const yaml = [
    'connections:',
    '  acme:',
    '    baseUrl: https://tracker.example.com',
    '    apiKey: { env: KEY }',
    `    lake: { url: "${pathToFileURL(folder).href}" }`,
    '    resources: [projects]',
  ].join('\n');
  const connections = openConnections(parseSettings(yaml, 'worktrack.yaml'), { idleMs: 1 });
  const stores = new Set<ObjectStore>();
  const swaps: string[] = [];
  const night = () =>
    connections.during('worktrack.run', null, async () => {
      const connection = connections.connection('acme');
      const { store } = connection;
      stores.add(store);
      const spy = vi.spyOn(store, 'swap');
      const trial = new WriteTrial(connection, { now: Date.now, logger: console });
      await trial.passed();
      await trial.ended();
      swaps.push(...spy.mock.calls.map(([key]) => key));
      spy.mockRestore();
    });
  await night();
  const first = swaps.length;
  expect(first).toBeGreaterThan(0);
  // A connection that was idle opens its store again.
  await vi.waitFor(
    async () => {
      await night();
      expect(stores.size).toBeGreaterThan(1);
    },
    { timeout: 60_000 },
  );
  expect(swaps).toHaveLength(first);
  await connections.close();
});
