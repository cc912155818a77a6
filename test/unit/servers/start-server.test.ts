import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ServerStartError } from '../../../src/servers/errors.js';
import { startServer } from '../../../src/servers/start/start-server.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-start-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Starts one shell script an attempt; a script that stays is "ready" once it was asked `questions` times. */
function start(scripts: readonly string[], questions = 1, signal?: AbortSignal) {
  const logFile = join(folder, 'server.log');
  const details = { attempts: 0, asked: 0 };
  const server = { title: 'A server', command: 'server' };
  return startServer(server, { executable: '/bin/sh', logFile, signal }, () => {
    const script = scripts[details.attempts] ?? 'exit 9';
    details.attempts += 1;
    return {
      args: ['-c', script],
      env: process.env,
      async checkReady() {
        details.asked += 1;
        if (script.startsWith('exec sleep') && details.asked >= questions) return;
        throw new Error('not yet');
      },
      details,
    };
  });
}

const conflict = 'echo "listen tcp: bind: address already in use" >&2; exit 1';

describe('starting a server', () => {
  it('polls until the server answers', async () => {
    const server = await start(['exec sleep 600'], 3);
    await server.stop();
    expect(server.asked).toBe(3);
  });

  it('starts again if another process took its port', async () => {
    const server = await start([conflict, conflict, 'exec sleep 600']);
    await server.kill();
    expect(await server.ended).toBe('SIGKILL');
    expect(server.attempts).toBe(3);
  });

  it('gives up if its ports are repeatedly taken', async () => {
    await expect(start([conflict, conflict, conflict, conflict])).rejects.toThrow('already in use');
  });

  it('does not start again for another failure, and shows the end of the log', async () => {
    const failure = await start(['echo no extended attributes; exit 3', 'exec sleep 600']).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(ServerStartError);
    expect((failure as Error).message).toContain('it ended with exit code 3');
    expect((failure as Error).message).toContain('no extended attributes');
  });

  it('stops the server when it is aborted', async () => {
    const abort = AbortSignal.timeout(300);
    await expect(start(['exec sleep 600'], Number.POSITIVE_INFINITY, abort)).rejects.toThrow('timeout');
  });
});
