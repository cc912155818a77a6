import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { idOf } from '../../support/mirrored.js';
import { type Stack, startStack, until } from '../../support/stack.js';

interface Announced {
  readonly id: string;
  readonly connection: string;
  readonly resources: readonly { readonly name: string; readonly runId: string; readonly rows: number }[];
}

describe('a target of notify for published runs', () => {
  let stack: Stack;
  let server: Server;
  afterEach(async () => {
    await stack?.stop();
    server?.close();
  });

  it('gets each published run, also one that it did not accept at first and a rollback, and no failed one', async () => {
    const got: Announced[] = [];
    let refusals = 1;
    server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        response.statusCode = refusals-- > 0 ? 503 : 204;
        if (response.statusCode === 204) got.push(JSON.parse(Buffer.concat(chunks).toString()) as Announced);
        response.end();
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as AddressInfo;
    stack = await startStack({
      ...{ resources: '[tasks]', simulator: { awkward: false, counts: { tasks: 4 } } },
      yaml: `    notify: { url: "http://127.0.0.1:${port}/", on: [published] }\n`,
    });
    await stack.startWorker();
    const { admin } = stack.simulator;
    const first = await stack.export();
    admin.update('tasks', idOf(admin.records('tasks')[0]!), { title: 'changed' });
    const second = await stack.export();
    const to = first.runs[0]!.runId!;
    const back = (await stack.temporal.client.workflow.execute('rollbackWorkflow', {
      workflowId: `${stack.connection}-rollback`,
      taskQueue: stack.taskQueue,
      args: [{ connection: stack.connection, resource: 'tasks', to }],
    })) as typeof first;
    await until(() => got.length === 3, 'three runs are announced');
    const runs = [first, second, back].map((result) => result.runs[0]!.runId);
    expect(got.map(({ resources }) => resources[0]!.runId).sort()).toEqual([...runs].sort());
    expect(new Set(got.map(({ id }) => id)).size).toBe(3);
    expect(got[0]).toMatchObject({ connection: stack.connection, resources: [{ name: 'tasks', rows: 4 }] });
  });
});
