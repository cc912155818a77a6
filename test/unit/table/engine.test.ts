import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { tableKeys } from '../../../src/lake/documents/lake-layout.js';
import type { ObjectStore } from '../../../src/lake/store/index.js';
import { encodeCommit } from '../../../src/table/log/actions.js';
import { encodeCheckpoint } from '../../../src/table/log/checkpoint.js';
import { readDamagedTable } from '../../../src/table/log/read-table.js';
import { removeLeft, useEngine } from '../../../src/table/parquet/engine.js';
import { EngineError, failureOf, LibraryError } from '../../../src/table/parquet/engine-failure.js';
import { temporaryLake } from '../lake/data-plane.js';
import { CSV } from '../lake/published.js';

describe('a failure of DuckDB', () => {
  const path = '"/tmp/worktrack-table-host-1-abcdef/use-x/file.parquet"';
  const systemError = (code: string) => Object.assign(new Error(`${code}: …, write`), { code });

  it.each([
    [new LibraryError('no such file'), 'library', 'no such file'],
    [
      new Error(`IO Error: Could not write file ${path}: No space left on device`),
      'disk',
      'No space left on device',
    ],
    [new Error(`IO Error: Cannot open file ${path}: Permission denied`), 'disk', 'Permission denied'],
    [
      new Error(`IO Error: No files found that match the pattern ${path}\n\nLINE 1`),
      'disk',
      'a file is missing',
    ],
    [systemError('ENOSPC'), 'disk', 'the disk is full'],
    [systemError('EMFILE'), 'disk', 'too many files are open'],
    [new Error('Out of Memory Error: could not allocate block of size 256.0 KiB'), 'memory', 'Out of Memory'],
    [new Error('Invalid Error: std::bad_alloc'), 'memory', 'Invalid'],
    [new Error('Invalid Input Error: CSV Error on Line: 2\nOriginal Line: secret'), 'rows', 'Invalid Input'],
    [
      new Error(`IO Error: Could not read enough bytes from file ${path}: attempted to read 9`),
      'other',
      'IO',
    ],
    [new Error('Invalid Error: TProtocolException: Invalid data'), 'other', 'Invalid'],
    [new Error('secret'), 'other', 'Internal'],
  ])('%s has a kind, and no value in its text', (error, kind, text) => {
    expect(failureOf(error)).toEqual({ kind, text });
  });

  it('says of the file whether it can be read only if the file explains it', () => {
    const kinds = ['library', 'ended', 'disk', 'memory', 'rows', 'other'] as const;
    const ofFile = kinds.filter((kind) => new EngineError({ kind, text: '' }, '/tmp').isOfFile);
    expect(ofFile).toEqual(['rows', 'other']);
  });
});

/** What becomes of each operation, for modules that are imported afterwards. */
async function mockOperations(outcome: 'killed' | 'never ends'): Promise<void> {
  const real = await vi.importActual<typeof import('node:child_process')>('node:child_process');
  const fork = (...args: Parameters<typeof real.fork>) => {
    const child = real.fork(...args);
    const send = () => outcome === 'never ends' || child.kill('SIGKILL');
    return Object.assign(child, { send });
  };
  vi.doMock('node:child_process', () => ({ ...real, fork }));
  vi.resetModules();
}

afterEach(() => {
  vi.doUnmock('node:child_process');
  vi.doUnmock('node:fs/promises');
  vi.resetModules();
});

describe('a checkpoint', () => {
  const lake = temporaryLake();

  async function tableWithCheckpoint(resource: string, body: Buffer): Promise<void> {
    const { commit, checkpoint, lastCheckpoint } = tableKeys(resource);
    await lake.store.write(commit(0), encodeCommit([{ commitInfo: { operation: 'WRITE' } }]));
    await lake.store.write(checkpoint(0), body);
    await lake.store.write(lastCheckpoint, Buffer.from('{"version":0,"size":1}'));
  }
  const actions = [{ txn: { appId: 'a', version: 7 } }];

  it('is not damaged because its process was killed', async () => {
    await tableWithCheckpoint('killed', await encodeCheckpoint(actions));
    await mockOperations('killed');
    const fresh = await import('../../../src/table/log/read-table.js');
    await expect(fresh.readDamagedTable(lake.store, 'killed')).rejects.toMatchObject({
      ...{ name: 'EngineError', kind: 'ended' },
      message: 'The process that reads and writes Parquet ended (SIGKILL).',
    });
    const { damage, state } = await readDamagedTable(lake.store, 'killed');
    expect({ damage, txns: [...state.txns] }).toEqual({ damage: null, txns: [['a', 7]] });
  });

  it('is not damaged because the temporary folder cannot be used', async () => {
    await tableWithCheckpoint('disk', await encodeCheckpoint(actions));
    await expect(readDamagedTable(lake.store, 'disk', { tempFolder: '/missing' })).rejects.toMatchObject({
      ...{ name: 'EngineError', kind: 'disk', retryable: false },
      message: 'The temporary folder /missing cannot be used: it does not exist.',
      remedy: 'Free some space there, or set tables.tempFolder.',
    });
  });

  it('is damaged if it is none', async () => {
    for (const [resource, body] of Object.entries({ text: Buffer.from('PAR1 text PAR1'), cut: null })) {
      await tableWithCheckpoint(resource, body ?? (await encodeCheckpoint(actions)).subarray(0, 300));
      const { damage } = await readDamagedTable(lake.store, resource);
      expect(damage).toMatch(/checkpoint.parquet is damaged: it is not a checkpoint/);
    }
  });

  it('hides no failure of the store for the commits if it is damaged', async () => {
    await tableWithCheckpoint('store', Buffer.from('none'));
    const read = vi.fn(async (key: Parameters<ObjectStore['read']>[0]) => {
      if (key.endsWith('.json')) throw new Error('the store is down');
      return lake.store.read(key);
    });
    const store = new Proxy(lake.store, {
      get: (target, name) => {
        const own = name === 'read' ? read : target[name as keyof ObjectStore];
        return typeof own === 'function' ? own.bind(target) : own;
      },
    });
    await expect(readDamagedTable(store, 'store')).rejects.toThrow('the store is down');
  });
});

describe('a part', () => {
  const lake = temporaryLake();

  it('can be converted later if the process was killed', async () => {
    const key = lake.newKey('.csv');
    const written = await lake.store.write(key, Buffer.from('a\n1\n'));
    await mockOperations('killed');
    const fresh = await import('../../../src/table/parquet/convert-part.js');
    const converted = fresh.convertPart(lake.store, {
      ...{ part: { ...written, rows: 1, rawBytes: 4 }, codec: 'zstd', signal: new AbortController().signal },
      layout: {
        csv: { ...CSV, compression: 'none' },
        columns: [{ alias: 'a', kind: 'string', type: 'empty', fixed: false }],
      },
      fileOf: () => ({ path: 'a-file', key: lake.newKey('.parquet') }),
    });
    // A TableError would be final.
    await expect(converted).rejects.toMatchObject({ name: 'EngineError', kind: 'ended' });
  });
});

describe('the process that reads and writes Parquet', () => {
  const roots: string[] = [];
  afterEach(async () => {
    for (const root of roots.splice(0)) await rm(root, { recursive: true, force: true });
  });
  async function newRoot(): Promise<string> {
    const root = await mkdtemp(join(tmpdir(), 'worktrack-engine-'));
    roots.push(root);
    return root;
  }

  it('has a private folder in the temporary folder, which is removed after the use', async () => {
    const root = await newRoot();
    const folders = async () => (await readdir(root)).length;
    await useEngine({ tempFolder: root }, async ({ folder, ask }) => {
      expect(folder.startsWith(join(root, 'worktrack-table-'))).toBe(true);
      await writeFile(join(folder, 'a-file'), 'x');
      expect(await ask('version', null)).toMatch(/^v?\d/);
    });
    const [engine] = await readdir(root);
    expect(await readdir(join(root, engine!))).toEqual([]);
    await expect.poll(folders).toBe(0);
  });

  it('removes its folder even if an operation fails, and the failure names no value', async () => {
    const root = await newRoot();
    const failed = useEngine({ tempFolder: root }, async ({ folder, ask }) => {
      await writeFile(join(folder, 'secret'), 'secret');
      return ask('readRecords', { path: join(folder, 'secret'), columns: ['a'] });
    });
    await expect(failed).rejects.toMatchObject({ message: 'DuckDB failed (Invalid Input)', kind: 'other' });
    await expect.poll(async () => (await readdir(root)).length).toBe(0);
  });

  it('reads no file outside its folder', async () => {
    const root = await newRoot();
    await writeFile(
      join(root, 'other.parquet'),
      await encodeCheckpoint([{ txn: { appId: 'a', version: 7 } }]),
    );
    const other = { path: join(root, 'other.parquet'), columns: ['txn'] };
    const use = useEngine({ tempFolder: root }, ({ ask }) => ask('readRecords', other));
    await expect(use).rejects.toThrow('DuckDB failed (Permission)');
  });

  it('does an operation while another use waits for its store', async () => {
    const cancel = new AbortController();
    const stuck = useEngine({ signal: cancel.signal }, async ({ ask }) => {
      await ask('version', null);
      await new Promise((_, reject) => cancel.signal.addEventListener('abort', reject));
    });
    expect(await useEngine({}, ({ ask }) => ask('version', null))).toMatch(/^v?\d/);
    cancel.abort(new Error('cancelled'));
    await expect(stuck).rejects.toThrow('cancelled');
  });

  it('ends at a cancellation, and works again', async () => {
    const root = await newRoot();
    const cancel = new AbortController();
    const running = useEngine({ tempFolder: root, signal: cancel.signal }, async ({ ask }) => {
      for (;;) await ask('version', null);
    });
    await Promise.all([
      expect(running).rejects.toThrow('cancelled'),
      delay(300).then(() => cancel.abort(new Error('cancelled'))),
    ]);
    expect(await useEngine({ tempFolder: root }, ({ ask }) => ask('version', null))).toMatch(/^v?\d/);
    await expect.poll(async () => (await readdir(root)).length).toBe(0);
  });

  it('ends an operation and the wait for one at a cancellation', async () => {
    const root = await newRoot();
    await mockOperations('never ends');
    const fresh = await import('../../../src/table/parquet/engine.js');
    const [first, second] = [new AbortController(), new AbortController()];
    const use = ({ signal }: AbortController) =>
      fresh.useEngine({ tempFolder: root, signal }, ({ ask }) => ask('version', null));
    const [running, waiting] = [use(first), use(second)];
    setTimeout(() => second.abort(new Error('the second was cancelled')), 100);
    await expect(waiting).rejects.toThrow('the second was cancelled');
    first.abort(new Error('the first was cancelled'));
    await expect(running).rejects.toThrow('the first was cancelled');
    await expect.poll(async () => (await readdir(root)).length).toBe(0);
  });

  it('does not wait for the operation before if it was cancelled before it could ask', async () => {
    const root = await newRoot();
    await mockOperations('never ends');
    const fresh = await import('../../../src/table/parquet/engine.js');
    const [first, second] = [new AbortController(), new AbortController()];
    const running = fresh.useEngine({ tempFolder: root, signal: first.signal }, ({ ask }) =>
      ask('version', null),
    );
    // While its folder is made.
    const cancelled = fresh.useEngine({ tempFolder: root, signal: second.signal }, ({ ask }) => {
      second.abort(new Error('the second was cancelled'));
      return ask('version', null);
    });
    await expect(cancelled).rejects.toThrow('the second was cancelled');
    first.abort(new Error('the first was cancelled'));
    await expect(running).rejects.toThrow('the first was cancelled');
  });

  it('keeps the error of its work although its folder cannot be removed', async () => {
    const root = await newRoot();
    const real = await vi.importActual<typeof import('node:fs/promises')>('node:fs/promises');
    const full = async () => {
      throw Object.assign(new Error('ENOTEMPTY: directory not empty'), { code: 'ENOTEMPTY' });
    };
    vi.doMock('node:fs/promises', () => ({ ...real, rm: full }));
    vi.resetModules();
    const fresh = await import('../../../src/table/parquet/engine.js');
    const cancel = new AbortController();
    const cancelled = fresh.useEngine({ tempFolder: root, signal: cancel.signal }, async ({ ask }) => {
      await ask('version', null);
      // The process ends in the listener of the signal, where an exception would end this process.
      cancel.abort(new Error('the reason'));
      return ask('version', null);
    });
    await expect(cancelled).rejects.toThrow('the reason');
    const failed = fresh.useEngine({ tempFolder: root }, () => Promise.reject(new Error('the real error')));
    await expect(failed).rejects.toThrow('the real error');
    expect(await fresh.useEngine({ tempFolder: root }, async () => 'done')).toBe('done');
  });

  it('removes what processes left that could not, and nothing else', async () => {
    const root = await newRoot();
    const host = hostname().replace(/[^\w.-]/g, '_');
    const ended = 2 ** 22 + 1;
    const folders = {
      [`worktrack-table-${host}-${ended}-aaaaaa`]: false,
      // A container whose process has the same number as the one before.
      [`worktrack-table-${host}-${process.pid}-aaaaaa`]: false,
      [`worktrack-table-${host}-${process.pid}-bbbbbb`]: true,
      [`worktrack-table-${host}-${process.ppid}-aaaaaa`]: true,
      [`worktrack-table-another-host-${ended}-aaaaaa`]: true,
      [`worktrack-table-another-host-${ended}-bbbbbb`]: false,
      'worktrack-table-mine': true,
    };
    for (const name of Object.keys(folders)) {
      await mkdir(join(root, name));
      await writeFile(join(root, name, 'part'), 'x');
    }
    const old = new Date(Date.now() - 10 * 86_400_000);
    await utimes(join(root, `worktrack-table-${host}-${process.pid}-aaaaaa`), old, old);
    await utimes(join(root, `worktrack-table-another-host-${ended}-bbbbbb`), old, old);
    await removeLeft(root);
    const kept = Object.entries(folders).flatMap(([name, isKept]) => (isKept ? [name] : []));
    expect((await readdir(root)).sort()).toEqual(kept.sort());
    expect(await readFile(join(root, 'worktrack-table-mine', 'part'), 'utf8')).toBe('x');
  });
});
