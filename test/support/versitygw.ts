import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

export interface TestS3 {
  readonly endpoint: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Objects are plain files below it. */
  readonly dataFolder: string;
  stop(): Promise<void>;
}

/** Starts a versitygw of this test's own on a free port of loopback, with an empty data folder. */
export async function startTestS3(): Promise<TestS3> {
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-s3-'));
  const [iam, data] = [join(folder, 'iam'), join(folder, 'data')];
  await mkdir(iam);
  await mkdir(data);
  const port = await freePort();
  const [accessKeyId, secretAccessKey] = ['test-access', 'test-secret-key'];
  const server = spawn(
    findBinary(),
    ['--port', `127.0.0.1:${port}`, '--iam-dir', iam, '--quiet', 'posix', data],
    {
      env: { ...process.env, ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let stderr = '';
  server.stderr?.on('data', (chunk) => {
    stderr += String(chunk);
  });
  const endpoint = `http://127.0.0.1:${port}`;
  await untilAnswers(endpoint, server, () => stderr);
  return {
    endpoint,
    accessKeyId,
    secretAccessKey,
    dataFolder: data,
    async stop() {
      if (server.exitCode === null && server.signalCode === null) {
        server.kill('SIGKILL');
        await once(server, 'exit');
      }
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function findBinary(): string {
  const folders = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'versitygw'));
  const candidates = [process.env.WORKTRACK_VERSITYGW ?? '', ...folders, '/tmp/build/bin/versitygw'];
  for (const candidate of candidates) {
    try {
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // The next one may exist.
    }
  }
  throw new Error('No versitygw found: set WORKTRACK_VERSITYGW to its path, or put it on PATH');
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

async function untilAnswers(endpoint: string, server: ChildProcess, output: () => string): Promise<void> {
  const deadline = Date.now() + 15_000;
  for (;;) {
    if (server.exitCode !== null) throw new Error(`versitygw ended with ${server.exitCode}: ${output()}`);
    try {
      await fetch(endpoint);
      return;
    } catch (error) {
      if (Date.now() > deadline) throw new Error(`versitygw does not answer: ${output()}`, { cause: error });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}
