import { readdir, readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { DEMO_ORGANIZATION } from '../../../src/simulator/index.js';
import { historyText } from '../../support/history-text.js';
import { sender, startNoticeStack, WEBHOOK_SECRET } from '../../support/notices.js';
import { freePort } from '../../support/ports.js';
import {
  type CommandProcess,
  runCommand,
  startCommand,
  startWorkerProcess,
} from '../../support/processes.js';
import { scrape } from '../../support/prometheus.js';
import { SHORT_BACK_OFFS } from '../../support/short-waits.js';
import { type Stack, startStack, until } from '../../support/stack.js';
import { watch } from '../../support/watch.js';
import { endLocks, fileIn, timeEntriesCsv } from '../../support/write-back.js';

const SECRET = 'wt_marker_"c41d/77+ae==';
const HOOK_TOKEN = 'Bearer nt_marker_77/4f+09==';
const HOOK_PATH = '/hooks/nu_marker_5d31c0';

/** The encodings of a secret that could leak. @param sign a unique part of the secret */
function formsOf(secret: string, sign: string): string[] {
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64'),
    sign,
  ];
}

let stack: Stack;
let hook: Server | undefined;
const running: CommandProcess[] = [];
afterEach(async () => {
  for (const { child, exited } of running.splice(0)) {
    child.kill('SIGKILL');
    await exited;
  }
  hook?.close();
  hook = undefined;
  await endLocks(stack);
  await stack?.stop();
});

describe('secrets', () => {
  it('such as the API key appear in no history, log, metric, object, receipt, answer or command line, even if the service echoes them in every error', async () => {
    stack = await startStack({
      s3: true,
      apiKey: SECRET,
      resources: '[projects, tasks, members, { name: clients, path: nowhere }]',
      // Attempts at a batch begin after 1, 3, 7, 15 and 31 seconds.
      yaml: '    sync: { pageSize: 10 }\n    retries: { giveUpAfter: 14s }\n',
      simulator: {
        echoAuthorization: true,
        counts: { projects: 40, tasks: 60, members: 20, 'time-entries': 0, 'calendar-entries': 0 },
      },
    });
    const { admin } = stack.simulator;
    admin.keys.add({
      key: SECRET,
      name: 'marked',
      organization: DEMO_ORGANIZATION,
      grants: ['projects:read', 'tasks:read', 'nowhere:read', 'time-entries:write'],
    });
    const echo = `{"message":${JSON.stringify(`no: Bearer ${SECRET}`)}}`;
    // More than one request is repeated, so that the failures of whole attempts are in the histories.
    admin.faults.add({
      match: { resource: 'tasks', page: 2 },
      remaining: 6,
      fault: { kind: 'status', status: 503, body: echo },
    });
    admin.faults.add({
      match: { resource: 'projects', page: 1 },
      remaining: 1,
      fault: { kind: 'redirect', location: `https://elsewhere.example/${encodeURIComponent(SECRET)}` },
    });
    const commandLines = watchCommandLines();
    const metrics = `127.0.0.1:${await freePort()}`;
    const worker = await startWorkerProcess(stack, SHORT_BACK_OFFS, ['--metrics', metrics]);
    running.push(worker);
    const place = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
    // The service gives no outcome for the first row, and rejects the last.
    const rows = `${timeEntriesCsv(30)}rejected,-60,2026-11-20T08:00:00Z,true\n`;
    const write = ['write-back', 'time-entries', await fileIn(stack, rows), ...place, '--json'];
    const dry = await runCommand(stack, [...write, '--dry-run']);
    const { requests } = JSON.parse(dry.stdout) as { requests: { idempotencyKey: string }[] };
    admin.faults.add({
      match: { method: 'POST', every: 10 },
      remaining: 3,
      fault: { kind: 'lose-response' },
    });
    admin.faults.add({
      match: { idempotencyKey: requests[0]!.idempotencyKey },
      fault: { kind: 'status', status: 503, body: echo },
    });
    // The row without an outcome takes as long as the connector tries.
    const writing = runCommand(stack, write);
    const exported = await runCommand(stack, ['export', ...place, '--json']);
    const status = await runCommand(stack, ['status', ...place, '--json']);
    const written = await writing;
    const measured = await scrape(metrics);
    await worker.signal('SIGTERM');
    const outcomes = (JSON.parse(exported.stdout) as { runs: { outcome: string }[] }).runs;
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['published', 'published', 'refused', 'failed']);
    const { counts, results } = JSON.parse(written.stdout) as { counts: object; results: string };
    expect(counts).toMatchObject({ created: 29, rejected: 1, unknown: 1 });

    const texts = await textsOf(stack);
    texts.set(
      'the answers',
      [exported, status, dry, written].flatMap(({ stdout, stderr }) => [stdout, stderr]).join('\n'),
    );
    texts.set('the log', Object.values(await worker.output()).join('\n'));
    texts.set('the metrics', measured.text);
    texts.set('the command lines', (await commandLines.stop()).join('\n'));

    expect(texts.get('the command lines')).toContain(stack.configFile);
    expect(texts.get('the metrics')).toContain('worktrack_requests_total');
    expect(texts.get(join(stack.lakeFolder, results))).toContain('[redacted]');
    expect([...texts.keys()].filter((name) => name.endsWith('_datapackage.json')).length).toBe(4);
    expectNone(texts, formsOf(SECRET, 'wt_marker_'));
    expectNone(texts, [stack.env.AWS_SECRET_ACCESS_KEY!]);
  });

  it('secrets of webhooks and notifications appear in no history, log or object, although both ends use them', async () => {
    process.env.HOOK_TOKEN = HOOK_TOKEN;
    let told = 0;
    hook = createServer((request, response) => {
      // The first response is retryable, the second is final.
      response.writeHead(++told === 1 ? 503 : 400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ message: `no: ${request.headers.authorization} at ${request.url}` }));
    });
    await new Promise<void>((done) => hook!.listen(0, '127.0.0.1', done));
    process.env.HOOK_URL = `http://127.0.0.1:${(hook.address() as AddressInfo).port}${HOOK_PATH}`;
    const notices = await startNoticeStack({
      resources: '[tasks]',
      yaml: '    notify: { url: { env: HOOK_URL }, headers: { Authorization: { env: HOOK_TOKEN } } }\n',
    });
    stack = notices;
    const commandLines = watchCommandLines();
    const metrics = `127.0.0.1:${await freePort()}`;
    const place = ['--config', stack.configFile, '--task-queue', stack.taskQueue];
    const worker = await startWorkerProcess(stack, {}, ['--metrics', metrics]);
    const receiver = startCommand(stack, ['webhook', ...place]);
    running.push(worker, receiver);
    const said = async () => (await receiver.output().catch(() => ({ stderr: '' }))).stderr;
    await until(async () => (await said()).includes('POST /hooks/'), 'the receiver listens');
    const post = sender(/http:\S+\d/.exec(await said())![0], stack.connection);
    const body = '{"resource":"tasks"}';
    const wrong = await post(body, { 'X-Webhook-Signature': WEBHOOK_SECRET });
    const right = await post(body);
    expect([wrong.status, right.status]).toEqual([401, 202]);
    await until(async () => (await notices.runs('tasks')).length === 1, 'the notice has led to a run');
    stack.simulator.admin.faults.add({ match: { method: 'GET' }, fault: { kind: 'status', status: 402 } });
    expect((await stack.export()).outcome).toBe('refused');
    await until(() => told === 2, 'the notification is refused');
    // Its failure is in the history of the export, which notifies of its runs, after the activity has ended.
    await until(
      async () => [...(await textsOf(stack)).values()].some((text) => text.includes('status 400')),
      'the failure is known',
    );
    const measured = await scrape(metrics);
    await worker.signal('SIGTERM');
    await receiver.signal('SIGTERM');

    const texts = await textsOf(stack);
    texts.set('the answers', `${await wrong.text()}${await right.text()}`);
    texts.set('the log', Object.values(await worker.output()).join('\n'));
    texts.set("the receiver's log", Object.values(await receiver.output()).join('\n'));
    texts.set('the metrics', measured.text);
    texts.set('the command lines', (await commandLines.stop()).join('\n'));
    expectNone(texts, formsOf(WEBHOOK_SECRET, 'wh_marker_'));
    expectNone(texts, formsOf(HOOK_TOKEN, 'nt_marker_'));
    expectNone(texts, formsOf(HOOK_PATH, 'nu_marker_'));
  });
});

/** All histories of a stack and all objects in its lake, by name. */
async function textsOf({ temporal, lakeFolder, workflows }: Stack): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for await (const { workflowId, runId } of workflows()) {
    const handle = temporal.client.workflow.getHandle(workflowId, runId);
    texts.set(`${workflowId} ${runId}`, historyText(await handle.fetchHistory()));
  }
  for (const file of await readdir(lakeFolder, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const path = join(file.parentPath, file.name);
    const bytes = await readFile(path);
    texts.set(path, (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1'));
  }
  return texts;
}

function expectNone(texts: ReadonlyMap<string, string>, forms: readonly string[]): void {
  for (const [name, text] of texts)
    for (const form of forms) expect(text.includes(form), `${name} shows a secret as ${form}`).toBe(false);
}

/** Collects the command lines of all processes, as every user of the machine may. */
function watchCommandLines(): { stop(): Promise<string[]> } {
  return watch(async () => {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
    const lines = pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => ''));
    return (await Promise.all(lines)).map((line) => line.replaceAll('\0', ' '));
  });
}
