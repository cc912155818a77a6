import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { GetObjectCommand, ListBucketsCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  ensureBucket,
  resolveServer,
  ServerStartError,
  s3ClientConfig,
  startTemporalDevServer,
  startVersitygw,
} from '../../../src/servers/index.js';
import { parentDeathPrefix } from '../../../src/servers/start/start-server.js';
import { freePort } from '../../support/ports.js';
import {
  startTimeSkipping,
  startTimeSkippingServer,
  TEST_SERVER,
} from '../../support/time-skipping-server.js';

const run = promisify(execFile);
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'worktrack-servers-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const executable = async (server: Parameters<typeof resolveServer>[0]) =>
  (await resolveServer(server, { output: { write: () => true } })).path;

/** Whether a process is there; one that has ended and only waits to be reaped is not. */
async function isRunning(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const status = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return status === null || !/\) [ZX] /.test(status);
}

describe('the Temporal dev server', () => {
  it('keeps its workflows after kill -9 and a restart on the same port, and leaves no process', async () => {
    const options = {
      executable: await executable('temporal'),
      dbFile: join(folder, 'state', 'temporal.db'),
      port: await freePort(),
      namespace: 'kept',
      logFile: join(folder, 'temporal.log'),
    };
    const first = await startTemporalDevServer({ ...options, headless: true });
    const workflowId = 'survivor';
    try {
      expect(first.uiUrl).toBeNull();
      const connection = await Connection.connect({ address: first.address });
      const client = new Client({ connection, namespace: first.namespace });
      await client.workflow.start('any', { taskQueue: 'none', workflowId });
      await connection.close();
    } finally {
      await first.kill();
    }
    expect(await isRunning(first.pid)).toBe(false);

    const second = await startTemporalDevServer(options);
    try {
      expect(second.address).toBe(first.address);
      expect((await fetch(second.uiUrl ?? '')).status).toBe(200);
      const connection = await Connection.connect({ address: second.address });
      const client = new Client({ connection, namespace: second.namespace });
      expect((await client.workflow.getHandle(workflowId).describe()).status.name).toBe('RUNNING');
      await connection.close();
    } finally {
      await second.stop();
      await second.stop();
    }
    expect(await isRunning(second.pid)).toBe(false);
  });

  it('names the port that is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    try {
      const start = startTemporalDevServer({ executable: await executable('temporal'), port });
      await expect(start).rejects.toThrow(`port ${port} is in use by another process`);
    } finally {
      other.close();
    }
  });

  it('shows the last lines of its log if it does not start', async () => {
    const start = startTemporalDevServer({
      executable: await executable('temporal'),
      extraArgs: ['--no-such-flag'],
    });
    await expect(start).rejects.toThrow(ServerStartError);
    await expect(start).rejects.toThrow('no-such-flag');
  });
});

describe('the time-skipping test server', () => {
  it('answers when started by itself, and leaves no process', async () => {
    const server = await startTimeSkippingServer({ executable: await executable(TEST_SERVER) });
    await server.stop();
    expect(await isRunning(server.pid)).toBe(false);
  });

  it('skips thirty days in the environment of the SDK', async () => {
    const env = await startTimeSkipping(await executable(TEST_SERVER));
    try {
      const before = await env.currentTimeMs();
      await env.sleep('30 days');
      expect((await env.currentTimeMs()) - before).toBeGreaterThanOrEqual(30 * 86_400_000);
    } finally {
      await env.teardown();
    }
  });
});

describe('the S3 server', () => {
  const start = async (port: number) =>
    startVersitygw({
      executable: await executable('versitygw'),
      dataDir: join(folder, 's3', 'data'),
      iamDir: join(folder, 's3', 'iam'),
      secretKey: 'a-secret-for-this-test',
      port,
    });

  it('keeps objects as plain files after kill -9 and a restart, rejects other keys, and leaves no process', async () => {
    const port = await freePort();
    const first = await start(port);
    try {
      await ensureBucket(first, 'lake');
      await ensureBucket(first, 'lake');
      const client = new S3Client(s3ClientConfig(first));
      await client.send(new PutObjectCommand({ Bucket: 'lake', Key: 'a/b.txt', Body: 'kept' }));
      client.destroy();
      const commandLine = await readFile(`/proc/${first.pid}/cmdline`, 'utf8').catch(() => '');
      expect(commandLine).not.toContain('a-secret-for-this-test');
    } finally {
      await first.kill();
    }
    expect(await readFile(join(folder, 's3', 'data', 'lake', 'a', 'b.txt'), 'utf8')).toBe('kept');

    const second = await start(port);
    try {
      const client = new S3Client(s3ClientConfig(second));
      const object = await client.send(new GetObjectCommand({ Bucket: 'lake', Key: 'a/b.txt' }));
      expect(await object.Body?.transformToString()).toBe('kept');
      client.destroy();
      const stranger = new S3Client(s3ClientConfig({ ...second, secretAccessKey: 'wrong' }));
      await expect(stranger.send(new ListBucketsCommand({}))).rejects.toMatchObject({
        $metadata: { httpStatusCode: 403 },
      });
      stranger.destroy();
    } finally {
      await second.stop();
    }
    expect(await isRunning(first.pid)).toBe(false);
    expect(await isRunning(second.pid)).toBe(false);
  });
});

describe('a server whose host ends', () => {
  const repository = new URL('../../../', import.meta.url).pathname;
  let compiled: string;

  // The host must be a separate process, which cannot load TypeScript, so compile the few files that it needs.
  beforeAll(async () => {
    compiled = join(folder, 'compiled');
    const source = 'src/servers/start/start-server.ts';
    const options =
      '--ignoreConfig --module nodenext --target es2022 --types node --skipLibCheck --rootDir .';
    await run(
      join(repository, 'node_modules/.bin/tsc'),
      [...options.split(' '), '--outDir', compiled, source],
      {
        cwd: repository,
      },
    );
    await writeFile(join(compiled, 'package.json'), '{"type":"module"}');
  });

  /** Starts a host with one child, `sleep`: how the child comes to its end is ours, not its own. */
  async function startHost(extraCode: string) {
    const code = `
      import { startProcess } from './src/servers/start/start-server.js';
      const logFile = ${JSON.stringify(join(folder, 'child.log'))};
      const child = startProcess({ executable: 'sleep', args: ['600'], env: process.env, logFile });
      ${extraCode}
      process.stdout.write(child.pid + '\\n');`;
    const host = spawn(process.execPath, ['--input-type=module', '--eval', code], {
      cwd: compiled,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(host, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
    const [line] = (await once(host.stdout, 'data')) as [Buffer];
    return { host, ended, childPid: Number(line.toString()) };
  }

  const stay = 'setInterval(() => undefined, 1000);';
  const gone = (pid: number) => vi.waitUntil(async () => !(await isRunning(pid)), { timeout: 100_000 });

  it('ends with its host on SIGTERM, which still ends the host', async () => {
    const { host, ended, childPid } = await startHost(stay);
    host.kill('SIGTERM');
    expect(await ended).toEqual([null, 'SIGTERM']);
    await gone(childPid);
  });

  it('keeps running while the handler of its host drains, and ends with its exit', async () => {
    const handler = `process.on('SIGTERM', () => {
      process.kill(child.pid, 0);
      process.exit(7);
    });`;
    const { host, ended, childPid } = await startHost(stay + handler);
    host.kill('SIGTERM');
    expect(await ended).toEqual([7, null]);
    await gone(childPid);
  });

  it('does not keep an idle host alive', async () => {
    const { ended, childPid } = await startHost('');
    expect(await ended).toEqual([0, null]);
    await gone(childPid);
  });

  it.runIf(parentDeathPrefix().length > 0)('ends even when the host is killed by SIGKILL', async () => {
    const { host, ended, childPid } = await startHost(stay);
    // Until its program has begun, the child has not asked for the signal.
    await vi.waitUntil(async () => (await readFile(`/proc/${childPid}/comm`, 'utf8')) === 'sleep\n', {
      timeout: 60_000,
    });
    host.kill('SIGKILL');
    await ended;
    await gone(childPid);
  });
});
