import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startOnDatabase } from '../../../src/cli/worker/local-temporal.js';
import { ServerStartError, type TemporalDevServer } from '../../../src/servers/index.js';

/** A server that writes its database as SQLite does, and rejects one that it did not complete. */
describe('the database of export --local', () => {
  let folder: string;
  let starts: string[];
  let notes: string[];
  let problem: string | null;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'worktrack-database-'));
    [starts, notes, problem] = [[], [], null];
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const at = (name: string): string => join(folder, name);

  async function start(file: string): Promise<TemporalDevServer> {
    starts.push(file.slice(folder.length + 1));
    const failed = (log: string, hasEnded = true): Error =>
      new ServerStartError('Temporal', 'it ended with exit code 1', 'temporal.log', log, { hasEnded });
    if (problem !== null) throw failed(problem);
    if (existsSync(file) && !readFileSync(file, 'utf8').startsWith('complete'))
      throw failed('no such table: cluster_metadata_info');
    writeFileSync(file, 'complete');
    writeFileSync(`${file}-wal`, 'log');
    return { stop: async () => {} } as unknown as TemporalDevServer;
  }
  const run = () => startOnDatabase(folder, start, (message) => notes.push(message));

  it('is created under another name, and gets its own when it is complete', async () => {
    await run();
    expect(starts).toEqual(['temporal.db.new', 'temporal.db']);
    expect([existsSync(at('temporal.db')), existsSync(at('temporal.db-wal'))]).toEqual([true, true]);
    expect(existsSync(at('temporal.db.new'))).toBe(false);
    starts = [];
    await run();
    expect([starts, notes]).toEqual([['temporal.db'], []]);
  });

  it('is created again after an interrupted creation', async () => {
    writeFileSync(at('temporal.db.new'), 'half');
    writeFileSync(at('temporal.db.new-journal'), 'half');
    await run();
    expect(readFileSync(at('temporal.db'), 'utf8')).toBe('complete');
    expect([existsSync(at('temporal.db-journal')), notes]).toEqual([false, []]);
  });

  it('is set aside with a note if the server cannot use it', async () => {
    writeFileSync(at('temporal.db'), 'half');
    await run();
    expect(readFileSync(at('temporal.db.unusable'), 'utf8')).toBe('half');
    expect(readFileSync(at('temporal.db'), 'utf8')).toBe('complete');
    expect(notes).toEqual([expect.stringContaining('It was set aside as')]);
  });

  it.each([
    ['the disk is full', 'database or disk is full (13)', 'Free some space'],
    [
      'its files are on a read-only file system',
      'attempt to write a readonly database (8)',
      'writable folder',
    ],
    [
      'it may not read or write its files',
      'unable to open database file: permission denied',
      'Let this user',
    ],
    ['too many files are open', 'accept: too many open files', 'ulimit -n'],
  ])('stays if %s, and the message says so', async (why, log, remedy) => {
    writeFileSync(at('temporal.db'), 'complete');
    problem = log;
    const error = await run().catch((one: unknown) => one as ServerStartError);
    expect(error).toBeInstanceOf(ServerStartError);
    expect((error as ServerStartError).describe()).toContain(`Temporal did not start: ${why}`);
    expect((error as ServerStartError).describe()).toContain(remedy);
    expect(readFileSync(at('temporal.db'), 'utf8')).toBe('complete');
  });

  it('comes back if the server does not start with a new one either', async () => {
    writeFileSync(at('temporal.db'), 'complete');
    problem = 'panic: something else';
    await expect(run()).rejects.toThrow('panic: something else');
    expect(existsSync(at('temporal.db.new'))).toBe(false);
    expect(readFileSync(at('temporal.db'), 'utf8')).toBe('complete');
    expect(notes).toEqual([]);
  });
});
