import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withChecksum } from '../../../src/lake/documents/checksums.js';
import { pointerKey } from '../../../src/lake/documents/lake-layout.js';
import { runCommand } from '../../support/processes.js';
import { type Stack, startStack } from '../../support/stack.js';

const RESOURCE = 'time-entries';
const POINTER = pointerKey(RESOURCE);

describe('a lake of another layout', () => {
  let stack: Stack;
  let run: string;
  let current: Buffer;
  afterAll(() => stack?.stop());

  beforeAll(async () => {
    stack = await startStack({ resources: `[${RESOURCE}]`, simulator: { counts: { [RESOURCE]: 5 } } });
    await stack.startWorker();
    run = (await stack.export()).runs[0]!.runId!;
    current = await stack.store.read(POINTER);
  });

  /** As another version writes it: with its own layout, or with none. */
  async function publishedBy(layout: number | null): Promise<void> {
    const { checksum: _, layout: __, ...fields } = JSON.parse(current.toString()) as Record<string, unknown>;
    const written = withChecksum(layout === null ? fields : { layout, ...fields });
    await stack.store.write(POINTER, Buffer.from(JSON.stringify(written)));
  }

  async function contents(): Promise<string[]> {
    const found: string[] = [];
    for await (const { key, bytes, modifiedAt } of stack.store.list(''))
      found.push(`${key} ${bytes} ${modifiedAt}`);
    return found;
  }

  it.each<[string, ...string[]]>([
    ['export'],
    ['export', '--adopt'],
    ['export', '--full'],
    ['backfill', '--reconcile'],
    ['rollback', '--resource', RESOURCE, '--to', 'RUN'],
    ['purge', '--resource', RESOURCE, '--key', 'a'],
    ['purge', '--resource', RESOURCE, '--key', 'a', '--dry-run'],
    ['verify'],
    ['history'],
    ['cat', RESOURCE],
    ['ddl'],
    ['dbt', '--dir', 'project'],
    ['report', '--out', 'report.html'],
    ['doctor'],
    ['write-back', RESOURCE, 'entries.csv'],
    ['write-back', RESOURCE, 'entries.csv', '--dry-run'],
  ])('is refused by worktrack %s %s %s %s %s, which changes nothing in it', async (command, ...args) => {
    await publishedBy(null);
    await writeFile(join(stack.folder, 'entries.csv'), 'note\nx\n');
    const before = await contents();
    const target = ['cat', 'ddl', 'dbt', 'verify', 'report', 'doctor'].includes(command)
      ? ['--config', stack.configFile]
      : ['--config', stack.configFile, '--task-queue', stack.taskQueue];
    const all = args.map((arg) => (arg === 'RUN' ? run : arg));
    const { code, stdout, stderr } = await runCommand(stack, [command, ...all, ...target]);
    const printed = (stdout + stderr).replace(/\s+/g, ' ');
    expect(printed).toContain(`${POINTER} has an earlier layout of the lake`);
    expect(printed).toContain(
      'Nothing was changed. Use the version that wrote the lake, or set a new `lake.url`',
    );
    expect(code).toBe(2);
    expect(await contents()).toEqual(before);
  });

  it('is shown by worktrack status, which does not read it', async () => {
    await publishedBy(1);
    const { code, stdout } = await runCommand(stack, ['status', '--config', stack.configFile, '--json']);
    const { connections } = JSON.parse(stdout) as {
      connections: { resources: { error: { message: string } | null }[] }[];
    };
    expect(connections[0]!.resources[0]!.error?.message).toContain(`${POINTER} has layout 1 of the lake`);
    expect(code).toBe(0);
  });

  it('a lake of a later version asks for an upgrade', async () => {
    await publishedBy(3);
    const { code, stderr } = await runCommand(stack, ['verify', '--config', stack.configFile]);
    expect(stderr).toContain('has layout 3 of the lake');
    expect(stderr).toContain('Upgrade worktrack.');
    expect(code).toBe(2);
  });

  it('is also refused if latest.json was lost', async () => {
    const changes: string[] = [];
    for await (const { key } of stack.store.list(`${RESOURCE}/`))
      if (key.endsWith('_datapackage.json')) changes.push(key);
    for (const key of changes) {
      const manifest = (await stack.store.read(key as never))
        .toString()
        .replace('"layout": 2', '"layout": 1');
      const { worktrack, ...rest } = JSON.parse(manifest) as { worktrack: Record<string, unknown> };
      const { checksum: _, ...without } = worktrack;
      await stack.store.write(key as never, Buffer.from(JSON.stringify({ ...rest, worktrack: without })));
    }
    await stack.store.remove([POINTER]);
    const before = await contents();
    const { runs } = await stack.export({ adopt: true });
    expect(runs[0]!.error).toMatchObject({ type: 'Configuration' });
    expect(runs[0]!.error!.message).toContain('has layout 1 of the lake');
    expect(await contents()).toEqual(before);
  });
});
