import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, readFile, rename, rmdir, writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { failureOf } from '../../../src/cli/shared/choose-exit-code.js';
import { makeFolder, systemCause, toSystemError } from '../../../src/core/system-error.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'worktrack-system-'));
  writeFileSync(join(folder, 'file'), '');
  mkdirSync(join(folder, 'folder'));
  symlinkSync('loop', join(folder, 'loop'));
});
afterAll(() => rmSync(folder, { recursive: true }));
const at = (name: string): string => join(folder, name);

/** Calls of Node that fail, and what the user reads. */
const CALLS: Readonly<Record<string, readonly [call: () => Promise<unknown>, message: string]>> = {
  ENOENT: [() => readFile(at('none')), 'cannot open FOLDER/none: it does not exist.'],
  'ENOENT of a folder': [() => readdir(at('none')), 'cannot read the folder FOLDER/none: it does not exist.'],
  'ENOENT of a program': [
    () => once(spawn(at('none'), ['-x']), 'exit'),
    'cannot start FOLDER/none: there is no such program.',
  ],
  'ENOENT of the temporary folder': [
    () => mkdtemp(at('none/worktrack-')),
    'cannot create the temporary folder FOLDER/none/worktrack-XXXXXX: it does not exist.',
  ],
  ENOTDIR: [() => readFile(at('file/x')), 'cannot open FOLDER/file/x: a part of the path is a file.'],
  EISDIR: [() => writeFile(at('folder'), ''), 'cannot open FOLDER/folder: it is a folder.'],
  EEXIST: [() => mkdir(at('folder')), 'cannot create the folder FOLDER/folder: it already exists.'],
  ENOTEMPTY: [() => rmdir(folder), 'cannot remove FOLDER: the folder is not empty.'],
  ELOOP: [() => open(at('loop')), 'cannot open FOLDER/loop: its symbolic links form a loop.'],
  ENAMETOOLONG: [
    () => readFile(at('x'.repeat(300))),
    `cannot open FOLDER/${'x'.repeat(300)}: the name is too long.`,
  ],
  'two paths': [
    () => rename(at('none'), at('other')),
    'cannot rename FOLDER/none to FOLDER/other: it does not exist.',
  ],
  ENOSPC: [() => writeFile('/dev/full', 'x'), 'cannot write: the disk is full.'],
  ECONNREFUSED: [
    async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as { port: number };
      server.close();
      await once(server, 'close');
      await once(connect(port, '127.0.0.1'), 'connect');
    },
    'cannot connect to 127.0.0.1, port PORT: the connection was refused.',
  ],
  EADDRINUSE: [
    async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = server.address() as { port: number };
      try {
        await once(createServer().listen(port, '127.0.0.1'), 'listening');
      } finally {
        server.close();
      }
    },
    'cannot listen on 127.0.0.1, port PORT: another process uses this port.',
  ],
};

async function errorOf(call: () => Promise<unknown>): Promise<Error> {
  try {
    await call();
  } catch (error) {
    return error as Error;
  }
  throw new Error('the call did not fail');
}

describe('an error of the system', () => {
  it.each(Object.entries(CALLS))('says in words what failed and why: %s', async (_, [call, message]) => {
    const error = await errorOf(call);
    const found = toSystemError(error);
    const shown = found?.message.replaceAll(folder, 'FOLDER').replace(/port \d+/, 'port PORT');
    expect(
      shown?.replace(/XXXXXX|worktrack-\w{6}:/, (one) => (one === 'XXXXXX' ? one : 'worktrack-XXXXXX:')),
    ).toBe(message);
    expect(found?.remedy).toMatch(/^[A-Z].*\.$/);
    const { code, message: printed, errorCode } = failureOf(error, {});
    expect([code, errorCode]).toEqual([1, 'SYSTEM']);
    expect(printed).not.toMatch(/Unexpected error|E[A-Z]{4,}/);
  });

  it.each(['EROFS', 'EMFILE', 'EACCES', 'EPERM', 'EDQUOT', 'ENOMEM', 'EIO', 'ENFILE'])(
    '%s has words',
    (code) => {
      const error = Object.assign(new Error(`${code}: x, open '/a'`), { code, syscall: 'open', path: '/a' });
      expect(toSystemError(error)?.message).toMatch(/^cannot open \/a: [a-z' -]+\.$/);
      expect(systemCause(error)).not.toContain(code);
    },
  );

  it('an error about a user without an entry in the system names the variable', () => {
    const error = Object.assign(new Error('A system error occurred: uv_os_homedir returned ENOENT'), {
      code: 'ERR_SYSTEM_ERROR',
      info: { code: 'ENOENT', syscall: 'uv_os_homedir' },
    });
    expect(toSystemError(error)?.describe()).toContain('Set HOME to a folder of this user.');
  });

  it('is told apart from an error of this program', () => {
    expect(toSystemError(new TypeError('x is not a function'))).toBeNull();
    expect(toSystemError(Object.assign(new Error('x'), { code: 'ERR_INVALID_ARG_TYPE' }))).toBeNull();
    expect(toSystemError(null)).toBeNull();
    expect(failureOf(new TypeError('x'), {}).message).toContain('Unexpected error');
    expect(systemCause(new Error('as it is'))).toBe('as it is');
  });
});

describe('a folder', () => {
  it('is created although others remove it and those above it at the same time', async () => {
    const root = await mkdtemp(join(tmpdir(), 'worktrack-folder-'));
    const folders = ['a/b/c', 'a/b', 'a'].map((path) => join(root, path));
    let isDone = false;
    const remove = async (): Promise<void> => {
      for (; !isDone; await delay(1)) for (const folder of folders) await rmdir(folder).catch(() => {});
    };
    const create = async (): Promise<void> => {
      for (let n = 0; n < 500; n++) await makeFolder(folders[0]!);
    };
    const removing = [remove(), remove()];
    try {
      await Promise.all([create(), create()]);
    } finally {
      isDone = true;
      await Promise.all(removing);
      rmSync(root, { recursive: true, force: true });
    }
  });
});
