import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parseSettings } from '../../../src/config/index.js';
import { openStore } from '../../../src/lake/store/index.js';
import { stageWriteBackRows } from '../../../src/write-back/stage-input.js';

describe('rows of an iterable', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worktrack-stage-'));
    await mkdir(join(folder, 'tmp'));
    vi.stubEnv('TMPDIR', join(folder, 'tmp'));
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    return rm(folder, { recursive: true, force: true });
  });

  const leftovers = () => readdir(tmpdir());
  const connectionOf = () =>
    parseSettings(
      `connections: { acme: { baseUrl: "http://127.0.0.1:1", apiKey: { env: K }, lake: { url: "file://${folder}" } } }`,
      'test',
    ).connections[0]!;
  const stage = (rows: AsyncIterable<object> | Iterable<object>) =>
    stageWriteBackRows(connectionOf(), { resource: 'time-entries', rows });

  it('are put into the lake as they are, and the same rows are the same batch', async () => {
    interface Entry {
      readonly description: string;
      readonly note?: string | undefined;
      readonly at: Date;
    }
    async function* entries(): AsyncGenerator<Entry> {
      yield { description: 'ü "1"', note: undefined, at: new Date(0) };
      yield { description: 'two\nlines', at: new Date(1000) };
    }
    const input = await stage(entries());
    expect(await stage(entries())).toEqual(input);
    const store = openStore(connectionOf().lake);
    const body = await store.read(input.input);
    store.close();
    expect(body.toString()).toBe(
      '{"description":"ü \\"1\\"","at":"1970-01-01T00:00:00.000Z"}\n' +
        '{"description":"two\\nlines","at":"1970-01-01T00:00:01.000Z"}\n',
    );
    expect(input.format).toBe('ndjson');
    expect(await leftovers()).toEqual([]);
  });

  it.each([
    [
      'a number without a JSON text',
      [{ a: 1 }, { a: Number.NaN }],
      'line 2: the field "a" is not a finite number',
    ],
    ['a bigint', [{ a: 1n }], 'line 1: the field "a" is a bigint'],
    ['a list', [[1]], 'line 1: the row is not an object'],
    ['no rows', [], 'there are no rows'],
  ])('are rejected for %s, with nothing left behind', async (_, rows, message) => {
    await expect(stage(rows)).rejects.toThrow(message);
    expect(await leftovers()).toEqual([]);
  });

  it('end with the error of the iterable', async () => {
    const failing = async function* () {
      yield { a: 1 };
      throw new Error('the database is gone');
    };
    await expect(stage(failing())).rejects.toThrow('the database is gone');
    expect(await leftovers()).toEqual([]);
  });
});
