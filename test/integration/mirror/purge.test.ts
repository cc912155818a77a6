import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/core/brands.js';
import { manifestChecksums } from '../../../src/lake/documents/checksums.js';
import { verifySnapshot } from '../../../src/lake/verify/verify-lake.js';
import { holdAnswer } from '../../support/hold.js';
import { mirrorStatus } from '../../support/mirror-requests.js';
import { runCommand, startOnTerminal } from '../../support/processes.js';
import { readPointer, readSnapshot, readTree } from '../../support/snapshot.js';
import { type Stack, startStack, until } from '../../support/stack.js';

const ROWS = 750;
const MARK = 'Erika Mustermann, to be forgotten';

describe('a purge', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  const purge = (resource: string, ...keys: string[]) =>
    runCommand(stack, [
      ...['purge', '--config', stack.configFile, '--task-queue', stack.taskQueue, '--resource', resource],
      ...keys.flatMap((key) => ['--key', key]),
    ]);

  /** Objects of the lake whose decompressed text contains the mark. */
  async function objectsWith(mark: string): Promise<string[]> {
    const found: string[] = [];
    for (const file of await readdir(stack.lakeFolder, { recursive: true, withFileTypes: true })) {
      if (!file.isFile()) continue;
      const body = await readFile(join(file.parentPath, file.name));
      const text = (file.name.endsWith('.gz') ? gunzipSync(body) : body).toString('utf8');
      if (text.includes(mark)) found.push(file.name);
    }
    return found;
  }

  it('removes one record from every snapshot and change log, and all checksums and counts still match', async () => {
    stack = await startStack({
      s3: true,
      simulator: { awkward: false, counts: { tasks: ROWS } },
      resources: '[{ name: tasks, checks: [{ rows: { min: 1 } }] }]',
      yaml: '    csv: { partSize: 64KiB }\n',
    });
    const { admin } = stack.simulator;
    await stack.startWorker();
    await stack.export();
    const id = admin.create('tasks', { name: MARK });
    await stack.export();
    admin.update('tasks', id, { name: `${MARK}, again` });
    await stack.export();
    await stack.export();
    expect((await objectsWith(MARK)).length).toBeGreaterThanOrEqual(5);
    const before = await readPointer(stack.store, 'tasks');
    const { published } = await mirrorStatus(stack, 'tasks');
    expect(published).toMatchObject({ deletes: {}, checks: {} });

    // What a run that has failed left.
    const staged = '_staging/tasks/20261101T020000Z-00000001/0.csv' as ObjectKey;
    await stack.store.write(staged, Buffer.from(`${MARK}\n`));
    const aside = '_quarantine/tasks/20261101T020000Z-00000001/not-unique-0-00000001.csv' as ObjectKey;
    await stack.store.write(aside, Buffer.from(`id,name\n${id},"${MARK}"\n`));
    admin.remove('tasks', [id]);
    const dry = await runCommand(stack, [
      ...['purge', '--config', stack.configFile, '--resource', 'tasks', '--key', id, '--dry-run'],
    ]);
    expect(dry).toMatchObject({
      code: 0,
      stdout:
        'tasks: 3 snapshots, 2 change logs and 1 quarantine file contain this record. Nothing was removed.\n',
    });
    expect((await objectsWith(MARK)).length).toBeGreaterThanOrEqual(5);
    const done = await purge('tasks', id);
    expect(done).toMatchObject({ code: 0 });
    expect(done.stdout).toContain('tasks: removed from 3 snapshots, 2 change logs and 1 quarantine file');
    expect(await objectsWith(MARK)).toEqual([]);
    expect(await objectsWith(id)).toEqual([]);
    const pointer = await readPointer(stack.store, 'tasks');
    expect(pointer).toEqual({
      ...{ ...before, rows: before.rows - 1, amendedBy: pointer.amendedBy },
      manifests: await manifestChecksums(stack.store, before),
    });
    expect(pointer.amendedBy).toMatch(/^\d{8}T\d{6}Z-/);
    const after = (await mirrorStatus(stack, 'tasks')).published;
    expect(after).toEqual({ ...published, rows: before.rows - 1 });
    expect((await verifySnapshot(stack.store, 'tasks')).problems).toEqual([]);
    expect((await readSnapshot(stack.store, 'tasks')).rows.length).toBe(ROWS);

    const nothing = await purge('tasks', id);
    expect(nothing).toMatchObject({ code: 0 });
    expect(nothing.stdout).toContain('no snapshot or change log contains this record');
    expect((await stack.export()).runs[0]).toMatchObject({ outcome: 'published', rows: ROWS });
    expect((await verifySnapshot(stack.store, 'tasks')).problems).toEqual([]);
  });

  it('names the record on a terminal first, and removes nothing unless the resource is typed', async () => {
    stack = await startStack({
      s3: true,
      simulator: { awkward: false, counts: { projects: 3 } },
      resources: '[projects]',
    });
    await stack.startWorker();
    await stack.export();
    const [record] = stack.simulator.admin.records('projects');
    const { id } = JSON.parse(record!) as { id: string };
    const target = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
    const ask = async () => {
      const command = startOnTerminal(stack, ['purge', ...target, '--resource', 'projects', '--key', id]);
      // A long question is wrapped, and control sequences begin its last line.
      const screen = async () =>
        stripVTControlCharacters((await command.output()).stdout).replace(/\s+/g, ' ');
      const shows = (text: string): Promise<void> =>
        until(async () => (await screen()).includes(text), `it shows ${text}`);
      await shows('1 snapshot and 1 change log contain this record. A purge cannot be undone.');
      await shows(`Remove the record ${id}? Type projects to remove it, or press Enter to keep it: `);
      return { command, shows, type: (text: string) => command.child.stdin!.write(text) };
    };
    const left = await ask();
    left.type('yes\r');
    await left.shows('type projects, or press Enter');
    left.type('\u0003');
    expect(await left.command.exited).toBe(130);
    expect((await left.command.output()).stdout).toMatch(/\nNothing was removed\./);
    expect(await objectsWith(id)).not.toEqual([]);
    const kept = await ask();
    kept.type('\r');
    expect(await kept.command.exited).toBe(0);
    expect((await kept.command.output()).stdout).toContain('Nothing was removed.');
    expect(await objectsWith(id)).not.toEqual([]);
    const removed = await ask();
    removed.type('projects\r');
    expect(await removed.command.exited).toBe(0);
    expect(await objectsWith(id)).toEqual([]);
    const again = startOnTerminal(stack, ['purge', ...target, '--resource', 'projects', '--key', id]);
    expect(await again.exited).toBe(0);
    expect((await again.output()).stdout).toContain('no snapshot or change log contains this record');
  });

  it('finds a record by a compound key and by a masked key', async () => {
    stack = await startStack({
      s3: true,
      simulator: { awkward: false, counts: { 'calendar-entries': 20, projects: 5 } },
      resources:
        '[{ name: calendar-entries, key: [source, sourceKey] }, { name: projects, columns: { mask: { id: hash } } }]',
    });
    await stack.startWorker();
    await stack.export();
    const [entry] = (await readSnapshot(stack.store, 'calendar-entries')).rows;
    expect((await purge('calendar-entries', entry!.source!)).stderr).toMatch(/pass one --key for each/);
    expect((await purge('calendar-entries', entry!.source!, entry!.sourceKey!)).code).toBe(0);
    const left = (await readSnapshot(stack.store, 'calendar-entries')).rows;
    expect(left.length).toBe(19);
    expect(left.some((row) => row.sourceKey === entry!.sourceKey && row.source === entry!.source)).toBe(
      false,
    );

    const [project] = stack.simulator.admin
      .records('projects')
      .map((text) => JSON.parse(text) as { id: string });
    expect((await purge('projects', project!.id)).stdout).toContain(
      'removed from 1 snapshot and 1 change log',
    );
    expect((await readSnapshot(stack.store, 'projects')).rows.length).toBe(4);
  });

  it('a purge of the only record leaves a header, and waits for a run in progress', async () => {
    stack = await startStack({
      s3: true,
      simulator: { awkward: false, counts: { projects: 1 } },
      resources: '[projects]',
    });
    await stack.startWorker();
    await stack.export();
    const [row] = (await readSnapshot(stack.store, 'projects')).rows;
    const held = holdAnswer(stack.simulator, { resource: 'projects', page: 0 });
    const exporting = stack.export({ full: true });
    await until(held.isThere, 'the export reads');
    const purging = purge('projects', row!.id!);
    await until(async () => (await mirrorStatus(stack, 'projects')).waiting === 1, 'the purge waits');
    held.release();
    const [exported, purged] = await Promise.all([exporting, purging]);
    expect(exported.outcome).toBe('published');
    expect(purged.code).toBe(0);
    const pointer = await readPointer(stack.store, 'projects');
    const changes = await readTree(stack.store, pointer.changes!);
    expect(changes.header.slice(0, 4)).toEqual(['_run_id', '_synced_at', '_deleted_at', 'id']);
    expect((await verifySnapshot(stack.store, 'projects')).problems).toEqual([]);
  });
});
