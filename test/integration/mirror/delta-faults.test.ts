import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import type { ObjectKey } from '../../../src/core/brands.js';
import type { MirrorStatus } from '../../../src/core/contract/index.js';
import { pointerKey, tableKeys } from '../../../src/lake/documents/lake-layout.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import { checkTable, followPointer, type TableTask } from '../../../src/table/index.js';
import { decodeCommit } from '../../../src/table/log/actions.js';
import { listSizes } from '../../../src/table/log/maintain.js';
import { readTable } from '../../../src/table/log/read-table.js';
import { expectTable, readTableOf } from '../../support/expect-table.js';
import { drawn, rounds } from '../../support/seeds.js';
import { type Stack, startStack } from '../../support/stack.js';

/** A problem of a table with this text. */
const hasText = (text: RegExp) => expect.objectContaining({ text: expect.stringMatching(text) });

const ROWS = 200;
const TASKS = { simulator: { awkward: false, counts: { tasks: ROWS } }, resources: '[tasks]' } as const;
const PARTS = '    csv: { partSize: 16KiB }\n    sync: { overlap: 1s }\n';

/** The store as it was when `latest.json` had this content. */
function at(store: ObjectStore, pointer: Buffer): ObjectStore {
  const key = pointerKey('tasks');
  return overriding(store, {
    readIfExists: async (wanted) =>
      wanted === key ? { body: pointer, etag: 'then' } : store.readIfExists(wanted),
  });
}

function overriding(store: ObjectStore, changes: Partial<ObjectStore>): ObjectStore {
  return new Proxy(store, {
    get(target, name) {
      const own = changes[name as keyof ObjectStore] ?? target[name as keyof ObjectStore];
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
}

/** A store whose process dies at its `n`th write or removal: before the request, or before the answer. */
function dyingAt(
  store: ObjectStore,
  n: number,
  when: 'before' | 'after',
): { store: ObjectStore; died: boolean } {
  const result = { store, died: false };
  let count = 0;
  const once = async <T>(work: () => Promise<T>): Promise<T> => {
    if (result.died) throw new Error('dead');
    if (count++ !== n) return work();
    if (when === 'after') await work();
    result.died = true;
    throw new Error('dead');
  };
  result.store = overriding(store, {
    write: (...args) => once(() => store.write(...args)),
    swap: (...args) => once(() => store.swap(...args)),
    remove: (...args) => once(() => store.remove(...args)),
    openWriter: (...args) => {
      const writer = store.openWriter(...args);
      return {
        get bytes() {
          return writer.bytes;
        },
        write: (chunk, crc) => writer.write(chunk, crc),
        finish: () => once(() => writer.finish()),
        abort: () => writer.abort(),
      };
    },
  });
  return result;
}

describe('a Delta table', () => {
  let stack: Stack;
  afterEach(() => stack?.stop());

  const taskOf = (store: ObjectStore): TableTask => ({
    ...{ store, resource: 'tasks', types: {}, badValues: 'stop', retentionMs: 1, now: Date.now },
    signal: new AbortController().signal,
  });
  const runsShown = async (): Promise<(string | undefined)[]> => {
    const { state } = await readTable(stack.store, 'tasks');
    const versions = Array.from({ length: state.version + 1 }, (_, version) =>
      tableKeys('tasks').commit(version),
    );
    const bodies = await Promise.all(versions.map((key) => stack.store.read(key)));
    return bodies.map((body) => decodeCommit(body)[0]!.commitInfo?.userMetadata);
  };
  const removeTable = async () => {
    const keys: ObjectKey[] = [];
    for await (const { key } of stack.store.list('tasks/table/')) keys.push(key);
    await stack.store.remove(keys);
  };
  /** Three runs without a table. Returns their ids and `latest.json` after each. */
  const threeRuns = async () => {
    await stack.startWorker();
    const ids = stack.simulator.admin.records('tasks').map((text) => (JSON.parse(text) as { id: string }).id);
    const runs: { readonly runId: string; readonly pointer: Buffer }[] = [];
    for (let run = 0; run < 3; run++) {
      stack.simulator.admin.update('tasks', ids[(run * ROWS) / 4]!, { title: `changed ${run}` });
      const { runId } = (await stack.export()).runs[0]!;
      runs.push({ runId: runId!, pointer: await stack.store.read(pointerKey('tasks')) });
    }
    return runs;
  };

  it('has one version for each published run and names no absent file, wherever the process dies', async () => {
    stack = await startStack({ ...TASKS, yaml: PARTS });
    const [first, second, third] = await threeRuns();
    const expected = [first!.runId, second!.runId, third!.runId];
    let deaths = 0;
    const times = drawn(['before', 'after'] as const, 1);
    for (const when of times) {
      for (let n = 0, died = true; died; n++) {
        await removeTable();
        await followPointer(taskOf(at(stack.store, first!.pointer)));
        const dying = dyingAt(at(stack.store, third!.pointer), n, when);
        await followPointer(taskOf(dying.store)).catch(() => {});
        died = dying.died;
        if (died) deaths++;
        const shown = await runsShown();
        expect(shown).toEqual(expected.slice(0, shown.length));
        const { state } = await readTable(stack.store, 'tasks');
        const sizes = await listSizes(stack.store, 'tasks');
        for (const { path, size } of state.files.values()) expect(sizes.get(path), path).toBe(size);
        await followPointer(taskOf(stack.store));
        expect(await runsShown()).toEqual(expected);
        expect(await checkTable(stack.store, 'tasks')).toEqual([]);
      }
    }
    expect(deaths).toBeGreaterThanOrEqual(5 * times.length);
    await expectTable(stack, 'tasks');
    expect((await readTableOf(stack, 'tasks', 1)).rows.length).toBe(ROWS);
  });

  it('gets each version from exactly one of two writers', async () => {
    stack = await startStack({ ...TASKS, yaml: PARTS });
    const runs = await threeRuns();
    for (let round = 0; round < rounds(2); round++) {
      await removeTable();
      await followPointer(taskOf(at(stack.store, runs[0]!.pointer)));
      const both = await Promise.all([
        followPointer(taskOf(stack.store)),
        followPointer(taskOf(stack.store)),
      ]);
      expect(both[0]!.commits + both[1]!.commits).toBe(2);
      expect(await runsShown()).toEqual(runs.map(({ runId }) => runId));
      expect(await checkTable(stack.store, 'tasks')).toEqual([]);
    }
    await expectTable(stack, 'tasks');
  });

  it('a Delta table that cannot be written does not fail the run: status warns until a later run has caught up', async () => {
    stack = await startStack({ ...TASKS, yaml: `${PARTS}    tables: { format: delta }\n` });
    await stack.startWorker();
    await stack.export();
    const damaged = tableKeys('tasks').commit(1);
    const upgrade = '{"protocol":{"minReaderVersion":3,"minWriterVersion":7}}';
    await stack.store.write(damaged, Buffer.from(upgrade));
    const behind = await stack.export();
    expect(behind).toMatchObject({ outcome: 'published', runs: [{ outcome: 'published' }] });
    expect(behind.runs[0]!.warnings[0]).toMatch(
      /^table: it does not show the published run yet.*was upgraded by another program/,
    );
    const mirror = stack.temporal.client.workflow.getHandle(stack.mirrorId('tasks'));
    expect((await mirror.query<MirrorStatus>('status')).tableWarning).toMatch(/^table: /);
    expect(await checkTable(stack.store, 'tasks')).toEqual([
      hasText(/does not show run .* yet; it shows run/),
      hasText(/was upgraded by another program to writer version 7/),
    ]);
    await stack.store.remove([damaged]);
    expect(await checkTable(stack.store, 'tasks')).toEqual([hasText(/version 0 does not show run .* yet/)]);
    const caughtUp = await stack.export();
    expect(caughtUp.runs[0]!.warnings).toEqual([]);
    expect(await mirror.query<MirrorStatus>('status')).not.toHaveProperty('tableWarning');
    expect((await runsShown()).slice(1)).toEqual([behind.runs[0]!.runId, caughtUp.runs[0]!.runId]);
    await expectTable(stack, 'tasks');
  });

  it('repairs itself if a data file is missing', async () => {
    stack = await startStack({ ...TASKS, yaml: `${PARTS}    tables: { format: delta }\n` });
    await stack.startWorker();
    await stack.export();
    const [file] = (await readTableOf(stack, 'tasks')).files;
    await stack.store.remove([tableKeys('tasks').data(file!)]);
    expect(await checkTable(stack.store, 'tasks')).toEqual([
      hasText(/version 0 of the table names, is missing/),
    ]);
    await stack.export();
    expect(await checkTable(stack.store, 'tasks')).toEqual([]);
    await expectTable(stack, 'tasks');
  });

  it('fails a run before it publishes if a value does not fit tables.types, or has NULL with a warning', async () => {
    const types = 'types: { tasks: { estimateSeconds: double, title: timestamp } }';
    stack = await startStack({ ...TASKS, yaml: `${PARTS}    tables: { format: delta, ${types} }\n` });
    const strict = await stack.startWorker();
    const failed = await stack.export();
    expect(failed.runs[0]).toMatchObject({ outcome: 'failed', error: { type: 'Configuration' } });
    expect(failed.runs[0]!.error!.message).toMatch(
      new RegExp(`values do not fit .*"title" \\(timestamp\\): ${ROWS}\\.`),
    );
    expect(await stack.store.readIfExists(pointerKey('tasks'))).toBeNull();
    await strict.stop();
    const yaml = await readFile(stack.configFile, 'utf8');
    const changed = yaml.replace('format: delta,', 'format: delta, badValues: clear,');
    await stack.startWorker(parseSettings(changed, stack.configFile));
    const cleared = await stack.export();
    expect(cleared.runs[0]!.warnings).toContain(
      `table: ${ROWS} values of "title" are NULL, because they do not fit timestamp`,
    );
    const { types: found, rows } = await readTableOf(stack, 'tasks');
    expect(found).toMatchObject({ estimateSeconds: 'double', title: 'timestamp' });
    expect(rows.every(({ title, estimateSeconds }) => title === null && estimateSeconds !== null)).toBe(true);
  });
});
