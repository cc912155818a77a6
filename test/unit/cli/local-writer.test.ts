import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkWriter, localNamespace } from '../../../src/cli/runs/local-export.js';
import { parseSettings } from '../../../src/config/index.js';
import type { RunId } from '../../../src/core/brands.js';
import { noFacts } from '../../../src/core/value-facts.js';
import { openStore } from '../../../src/lake/store/index.js';
import { publishRun } from '../lake/published.js';

const RUN = '20261121T020000Z-00000001' as RunId;

describe('the first export with --local', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-writer-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const connection = (baseUrl = 'https://tracker.example.com') =>
    parseSettings(
      `connections: { acme: { baseUrl: "${baseUrl}", apiKey: { env: K }, lake: { url: "file://${folder}/lake" }, resources: [tasks, tags, projects] } }`,
      'worktrack.yaml',
    ).connections[0]!;
  /** Publishes a run of a mirror in the namespace `default`. */
  async function publish(resource: string): Promise<void> {
    const columns = [{ name: 'id', types: 16, values: noFacts() }];
    const store = openStore(connection().lake);
    await publishRun(store, { resource, runId: RUN, date: '2026-11-21', columns, parts: [] }).finally(() =>
      store.close(),
    );
  }

  it('stops before anything is started if another Temporal server writes the lake', async () => {
    await publish('tasks');
    await publish('tags');
    await expect(checkWriter(connection(), {}, 'local-1')).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringMatching(
        /^another Temporal server \(namespace "default"\) writes tasks, tags in file:.*, last with run 20261121T020000Z-00000001/,
      ),
      remedy: 'To use that server, leave out --local. To take over, add --adopt.',
    });
    await checkWriter(connection(), { adopt: true }, 'local-1');
    await checkWriter(connection(), { dryRun: {} }, 'local-1');
    await checkWriter(connection(), { resources: ['projects'] }, 'local-1');
    // The run says more about a lake of another service.
    await checkWriter(connection('https://other.example.com'), {}, 'local-1');
  });

  it('continues if its own mirrors wrote the lake, although their state is lost', async () => {
    await publish('tasks');
    await checkWriter(connection(), {}, 'default');
    expect(localNamespace('/home/a/.local/state/temporal-worktrack/0123abc')).toBe(
      localNamespace('/tmp/state/0123abc'),
    );
  });

  it('leaves a lake that is empty or cannot be read to the run', async () => {
    await checkWriter(connection(), {}, 'local-1');
    await writeFile(join(folder, 'lake'), '');
    await checkWriter(connection(), {}, 'local-1');
  });
});
