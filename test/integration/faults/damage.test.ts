import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { indexKey } from '../../../src/lake/documents/block-index.js';
import { readManifest } from '../../../src/lake/documents/manifest.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { expectMirrored } from '../../support/mirrored.js';
import { runCommand } from '../../support/processes.js';
import { readPointer } from '../../support/snapshot.js';
import { type Stack, startStack } from '../../support/stack.js';

describe('damage at rest in an S3 lake', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack({
      s3: true,
      simulator: { awkward: false, counts: { tasks: 1500, projects: 20 } },
      resources: '[tasks, projects]',
      yaml: '    csv: { partSize: 128KiB }\n',
    });
    await stack.startWorker();
  });
  afterAll(() => stack?.stop());

  /** Changes one byte of an object on disk, so that the store's own checksum no longer matches. */
  async function flip(key: ObjectKey, at: number): Promise<void> {
    const path = join(stack.lakeFolder, key);
    const body = await readFile(path);
    body[at]! ^= 0x10;
    await writeFile(path, body);
  }
  const parts = async () => {
    const { snapshot } = await readPointer(stack.store, 'tasks');
    return (await readManifest(stack.store, snapshot))!.parts;
  };
  const command = (...args: string[]) =>
    runCommand(stack, [...args, '--config', stack.configFile, '--task-queue', stack.taskQueue]);
  const touch = () => stack.simulator.admin.touch('tasks', { count: 5, pick: 'spread' });

  /** Makes `count` exports that are published. Returns their runs of `tasks`, oldest first. */
  async function published(count: number): Promise<string[]> {
    const runs: string[] = [];
    for (let n = 0; n < count; n++) {
      touch();
      const result = await stack.export();
      expect(result.outcome, JSON.stringify(result.runs)).toBe('published');
      runs.push(result.runs.find(({ resource }) => resource === 'tasks')!.runId!);
    }
    return runs;
  }

  it('damage in a part is reported with the intact runs, fails the next export immediately, and is fixed by a rollback', async () => {
    const [first, second] = await published(3);
    const [part, other] = await parts();
    await flip(part!.key, Math.floor(part!.bytes / 2));
    await flip(other!.key, Math.floor(other!.bytes / 3));

    const verified = await command('verify');
    expect(verified.code).toBe(1);
    for (const key of [part!.key, other!.key])
      expect(verified.stdout).toMatch(new RegExp(`${key}.*is damaged in the store`));
    expect(verified.stdout).toContain(`Intact earlier runs: ${second}, ${first}`);
    expect(verified.stdout).toContain('projects: ok');
    // The command is as the user can type it, with the options of this one.
    expect(verified.stdout).toMatch(new RegExp(`main\\.js rollback .*--resource tasks --to ${second}`));

    touch();
    const failed = await stack.export({ resources: ['tasks'] });
    expect(failed.runs[0]).toMatchObject({ outcome: 'failed', error: { type: 'Lake' } });
    expect(failed.runs[0]!.error!.message).toMatch(/tasks\/snapshots\/.*(damaged|CRC32)/);

    expect((await command('rollback', '--resource', 'tasks', '--to', second!)).code).toBe(0);
    expect((await stack.export()).outcome).toBe('published');
    await expectMirrored(stack, 'tasks');
    expect((await verifySnapshot(stack.store, 'tasks')).problems).toEqual([]);
  });

  it('damage in a manifest, or a missing one, is fixed by a rollback', async () => {
    const [earlier] = await published(2);
    const { snapshot } = await readPointer(stack.store, 'tasks');
    await rm(join(stack.lakeFolder, snapshot));
    expect((await stack.export({ resources: ['tasks'] })).runs[0]).toMatchObject({ error: { type: 'Lake' } });
    const back = await command('rollback', '--resource', 'tasks', '--to', earlier!);
    expect(back.code).toBe(0);
    expect(back.stderr).toContain('could not be read and was left out');
    expect((await stack.export()).outcome).toBe('published');
    await expectMirrored(stack, 'tasks');
    expect((await verifySnapshot(stack.store, 'tasks')).problems).toEqual([]);
  });

  it('damage in a block index, or a missing index, is repaired by the next export', async () => {
    await published(1);
    const [one, two, three] = await parts();
    await flip(indexKey(one!.key), 100);
    await flip(indexKey(two!.key), 30);
    await rm(join(stack.lakeFolder, indexKey(three!.key)));
    const { damaged, recovery } = await verifySnapshot(stack.store, 'tasks');
    expect([...damaged].sort()).toEqual([one, two, three].map((part) => indexKey(part!.key)).sort());
    expect(recovery).toEqual([
      expect.stringContaining('The next export rebuilds a block index from its part'),
    ]);
    touch();
    expect((await stack.export({ resources: ['tasks'] })).outcome).toBe('published');
    await expectMirrored(stack, 'tasks');
    expect((await verifySnapshot(stack.store, 'tasks')).problems).toEqual([]);
  });

  it('damage in an index of an earlier run does not stop a rollback to that run', async () => {
    const [earlier] = await published(2);
    const { snapshot } = await readPointer(stack.store, 'tasks');
    const current = snapshot.match(/run=([^/]+)/)![1]!;
    const manifest = (await readManifest(stack.store, snapshot.replace(current, earlier!) as ObjectKey))!;
    const [missing, flipped] = manifest.parts.map(({ key }) => indexKey(key));
    await rm(join(stack.lakeFolder, missing!));
    await flip(flipped!, 50);
    expect((await command('rollback', '--resource', 'tasks', '--to', earlier!)).code).toBe(0);
    expect((await verifySnapshot(stack.store, 'tasks')).problems).toEqual([]);
    touch();
    expect((await stack.export({ resources: ['tasks'] })).outcome).toBe('published');
    await expectMirrored(stack, 'tasks');
  });
});
