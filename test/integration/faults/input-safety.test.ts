import { readdir } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { constants, createGzip } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { residentBytes } from '../../support/memory.js';
import { startWorkerProcess } from '../../support/processes.js';
import { drawn } from '../../support/seeds.js';
import { shortenBackOffs } from '../../support/short-waits.js';
import { type Stack, startStack } from '../../support/stack.js';

shortenBackOffs();

const MIB = 1024 * 1024;

let stack: Stack;
const servers: Server[] = [];
afterEach(async () => {
  await stack?.stop();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function listen(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Half a gigabyte of blanks between two brackets, half a megabyte on the wire. */
function bomb(): Promise<Buffer> {
  const gzip = createGzip({ level: constants.Z_BEST_COMPRESSION });
  const chunks: Buffer[] = [];
  gzip.on('data', (chunk: Buffer) => chunks.push(chunk));
  const done = new Promise<Buffer>((resolve) => gzip.on('end', () => resolve(Buffer.concat(chunks))));
  gzip.write('{"data":[');
  const blanks = Buffer.alloc(MIB, 0x20);
  for (let n = 0; n < 512; n++) gzip.write(blanks);
  gzip.end('],"page":{}}');
  return done;
}

describe('untrusted input', () => {
  it('cannot exhaust the worker memory: a gzip bomb fails the run at the size limit', async () => {
    const body = await bomb();
    expect(body.length).toBeLessThan(2 * MIB);
    const url = await listen(
      createServer((_, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
        response.end(body);
      }),
    );
    stack = await startStack({ s3: true, baseUrl: url, resources: '[tasks]' });
    const worker = await startWorkerProcess(stack);
    const before = await residentBytes(worker.child.pid!);
    let peak = 0;
    const timer = setInterval(async () => {
      peak = Math.max(peak, await residentBytes(worker.child.pid!).catch(() => 0));
    }, 20);
    const [run] = (await stack.export()).runs;
    clearInterval(timer);
    expect(run).toMatchObject({ outcome: 'failed', error: { type: 'BrokenPromise' } });
    expect(run!.error!.message).toMatch(/tasks: GET .*larger than 67108864 bytes.*http\.maxBody/);
    // The limit is 64 MiB, plus the memory of the run itself.
    expect(peak).toBeGreaterThan(0);
    expect((peak - before) / MIB).toBeLessThan(300);
    await worker.signal('SIGTERM');
  });

  it('cannot send the key to another host: redirects are not followed', async () => {
    const seen: string[] = [];
    const thief = await listen(
      createServer((request, response) => {
        seen.push(request.headers.authorization ?? 'none');
        response.end('{"data":[],"page":{"nextCursor":null}}');
      }),
    );
    stack = await startStack({
      s3: true,
      simulator: { counts: { tasks: 5 } },
      resources: '[tasks]',
    });
    await stack.startWorker();
    const { faults } = stack.simulator.admin;
    const location = `${thief}/api/public/v2/tasks`;
    for (const statuses of [
      [301, 302],
      [307, 308],
    ]) {
      faults.clear();
      for (const status of statuses)
        faults.add({ remaining: 1, fault: { kind: 'redirect', status, location } });
      const result = await stack.export();
      expect(result.outcome, JSON.stringify(result.runs)).toBe('published');
      expect(faults.list().map(({ hits }) => hits)).toEqual([1, 1]);
    }
    faults.clear();
    faults.add({ fault: { kind: 'redirect', location } });
    const [refused] = (await stack.export()).runs;
    expect(refused!.outcome).toBe('failed');
    expect(refused!.error!.message).toContain(new URL(thief).host);
    expect(seen).toEqual([]);
  });

  it('cannot reach outside the lake with the name of a resource or a run', async () => {
    stack = await startStack({ s3: true, simulator: { counts: { tasks: 3 } }, resources: '[tasks]' });
    await stack.startWorker();
    expect((await stack.export()).outcome).toBe('published');
    const { client } = stack.temporal;
    const execute = (workflow: string, input: object) =>
      client.workflow
        .execute(workflow, {
          workflowId: `${stack.connection}-${workflow}-${Math.random()}`,
          taskQueue: stack.taskQueue,
          args: [{ connection: stack.connection, ...input }],
        })
        .then(
          (result) => expect.unreachable(`${workflow} gave ${JSON.stringify(result)}`),
          (error: unknown) => `${messages(error)} ${JSON.stringify(error)}`,
        );
    const files = async () =>
      (
        await readdir(join(stack.servers.s3DataFolder, stack.bucket), {
          recursive: true,
          withFileTypes: true,
        })
      )
        .filter((file) => file.isFile() && file.parentPath.includes(stack.bucket))
        .map((file) => `${file.parentPath}/${file.name}`)
        .sort();
    const before = await files();
    const names = ['../tasks', '../../other/tasks', '/etc', 'tasks/../../x', 'a\\..\\b', '.', ''];
    for (const evil of drawn(names, 2)) {
      expect(await execute('exportWorkflow', { resources: [evil] })).toContain('has no resource');
      expect(await execute('rollbackWorkflow', { resource: 'tasks', to: evil })).toContain(
        'to must be a run id',
      );
    }
    expect(await files()).toEqual(before);
  });
});

/** What an error and its causes say. */
function messages(error: unknown): string {
  return error instanceof Error ? `${error.message} ${messages(error.cause)}` : '';
}
