import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import type { Settings } from '../../../src/core/settings.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { startSimulator } from '../../../src/simulator/index.js';
import { expectMirrored } from '../../support/mirrored.js';
import { readPointer } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

const COUNTS = { projects: 12, tasks: 40 };

describe('a service that moves to a new address', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  async function at(baseUrl: string): Promise<Settings> {
    const yaml = await readFile(stack.configFile, 'utf8');
    return parseSettings(yaml.replace(/baseUrl: \S+/, `baseUrl: ${baseUrl}`), stack.configFile);
  }
  /** Publishes from the old address, and stops the worker with that configuration. */
  async function published(): Promise<void> {
    stack = await startStack({
      simulator: { awkward: false, seed: 3, counts: COUNTS },
      resources: '[projects, tasks]',
    });
    const worker = await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
    await worker.stop();
  }

  it('is accepted with --adopt, which reads everything and warns with both addresses', async () => {
    await published();
    const from = stack.simulator.url;
    const to = from.replace('127.0.0.1', 'localhost');
    expect(to).not.toBe(from);
    const before = await readPointer(stack.store, 'tasks');
    await stack.startWorker(await at(to));

    const refused = await stack.export();
    expect(refused.outcome).toBe('failed');
    for (const { error } of refused.runs) {
      expect(error).toMatchObject({ type: 'Displaced' });
      expect(error!.message).toContain(`moved from ${from} to ${to}`);
      expect(error!.message).toContain('worktrack export --adopt');
    }
    expect(await readPointer(stack.store, 'tasks')).toEqual(before);

    stack.simulator.admin.touch('tasks', { count: 5, pick: 'spread' });
    const adopted = await stack.export({ adopt: true });
    expect(adopted.outcome).toBe('published');
    for (const { warnings } of adopted.runs) {
      expect(warnings.filter((text) => text.startsWith('moved:'))).toEqual([
        `moved: the service was at ${from} and is now at ${to}; the lake was adopted with --adopt, and this run read everything`,
      ]);
    }
    expect(adopted.runs.map(({ counts }) => counts!.fetched)).toEqual([COUNTS.projects, COUNTS.tasks]);
    expect(await readPointer(stack.store, 'tasks')).toMatchObject({
      baseUrl: to,
      formerBaseUrls: [from],
      connection: stack.connection,
      runId: adopted.runs[1]!.runId,
    });

    // The next run uses the new address: an increment without a warning.
    const next = await stack.export();
    expect(next).toMatchObject({ outcome: 'published', runs: [{ warnings: [] }, { warnings: [] }] });
    expect((await verifySnapshot(stack.store, 'tasks')).problems).toEqual([]);
    await expectMirrored(stack, 'tasks');
    // A later run keeps it.
    expect(await readPointer(stack.store, 'tasks')).toMatchObject({ baseUrl: to, formerBaseUrls: [from] });
  });

  it('is rejected, even with --adopt, if the service there knows none of the projects', async () => {
    await published();
    const other = await startSimulator({ awkward: false, seed: 4, counts: COUNTS });
    stack.beforeStop(() => other.close());
    const before = await readPointer(stack.store, 'tasks');
    await stack.startWorker(await at(other.url));
    const adopted = await stack.export({ adopt: true });
    expect(adopted.outcome).toBe('refused');
    const { error } = adopted.runs[1]!;
    expect(error!.message).toContain(`the service at ${other.url} knows none of`);
    expect(error!.message).toContain(`the service that was at ${stack.simulator.url}`);
    expect(await readPointer(stack.store, 'tasks')).toEqual(before);
  });
});
