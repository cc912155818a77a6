import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { createAuthority } from '../../support/certificates.js';
import {
  type NoticeStack,
  sender,
  signedNotice,
  startNoticeStack,
  WEBHOOK_SECRET,
} from '../../support/notices.js';
import { startOtlpReceiver } from '../../support/otlp-receiver.js';
import {
  type CommandProcess,
  runCommand,
  startCommand,
  startWorkerProcess,
} from '../../support/processes.js';
import { longOnly } from '../../support/seeds.js';
import { until } from '../../support/stack.js';
import { startTemporalGate } from '../../support/temporal-gate.js';

describe('`worktrack webhook`', () => {
  let stack: NoticeStack;
  const running: CommandProcess[] = [];
  afterEach(async () => {
    for (const { child, exited } of running.splice(0)) {
      child.kill('SIGKILL');
      await exited;
    }
    await stack?.stop();
  });

  const command = (...more: string[]) => [
    'webhook',
    '--config',
    stack.configFile,
    '--task-queue',
    stack.taskQueue,
    ...more,
  ];

  async function receiving(args: string[], env: NodeJS.ProcessEnv = {}) {
    const receiver = startCommand(stack, args, { WORKTRACK_WEBHOOK_SECRET: WEBHOOK_SECRET, ...env });
    running.push(receiver);
    const said = async () => (await receiver.output().catch(() => ({ stderr: '' }))).stderr;
    await until(async () => {
      if (receiver.child.exitCode !== null) throw new Error(`the receiver ended: ${await said()}`);
      return (await said()).includes('POST /hooks/');
    }, 'it listens');
    const url = /http:\S+\d/.exec(await said())![0];
    return { receiver, url, said };
  }

  // temporal/connection-deaths.test.ts replaces the key of a worker in the same way; notices.test.ts shows the 503 of an outage.
  longOnly('uses an API key of Temporal that is replaced in the profile while it runs', async () => {
    stack = await startNoticeStack();
    let valid = 'first';
    const authority = createAuthority('servers');
    const gate = await startTemporalGate({
      target: stack.servers.temporalAddress,
      certificate: authority.issue('gate'),
      refuse: (_, { authorization }) =>
        authorization === `Bearer ${valid}` ? null : { status: 16, message: 'Request unauthorized.' },
    });
    const ca = join(stack.folder, 'ca.pem');
    await writeFile(ca, authority.crt);
    const profile = join(stack.folder, 'temporal.toml');
    const writeProfile = () =>
      writeFile(profile, `[profile.default]\naddress = "${gate.address}"\napi_key = "${valid}"\n`);
    await writeProfile();
    const { url, said } = await receiving(command(), {
      ...{ TEMPORAL_CONFIG_FILE: profile, TEMPORAL_ADDRESS: undefined, TEMPORAL_TLS_SERVER_CA_CERT_PATH: ca },
    });
    const status = async (path: string) => (await fetch(`${url}${path}`)).status;
    const notice = async () => (await sender(url, stack.connection)('{"resource":"tasks"}')).status;
    await until(async () => (await status('/healthz')) === 200, 'it is healthy');
    expect(await notice()).toBe(202);
    valid = 'second';
    await until(async () => (await status('/healthz')) === 503, 'it is not healthy');
    expect(await notice()).toBe(503);
    await until(async () => (await said()).includes('has not accepted this receiver'), 'it says why');
    await writeProfile();
    await until(async () => (await status('/healthz')) === 200, 'it is healthy again');
    expect(await notice()).toBe(202);
    expect(await said()).toContain('because the address or the credentials have changed');
    await gate.close();
  });

  it('accepts notices until SIGTERM, starts a trace with each, answers requests in flight, and shows no secret', async () => {
    stack = await startNoticeStack();
    const collector = await startOtlpReceiver();
    const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '100' };
    const worker = await startWorkerProcess(stack, traced, ['--traces']);
    running.push(worker);
    const { receiver, url, said } = await receiving(command('--traces'), traced);
    await until(async () => (await fetch(`${url}/healthz`)).status === 200, 'it is ready');
    const post = sender(url, stack.connection);
    expect((await post('{"resource":"tasks"}')).status).toBe(202);
    expect((await post('{"resource":"tasks"}', { 'X-Webhook-Signature': WEBHOOK_SECRET })).status).toBe(401);
    await until(async () => (await stack.runs('tasks')).length === 1, 'the notice has led to a run');
    const named = (name: string) => collector.spans.find((span) => span.name === name);
    await until(() => named('RunActivity:worktrack.run') !== undefined, 'the run has been traced');

    // The response 100 shows that the headers have been read, so the request is in flight.
    const body = '{"resource":"tasks"}';
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk) => {
      answer += String(chunk);
    });
    const signature = signedNotice(body)['X-Webhook-Signature'];
    socket.write(
      `POST /hooks/${stack.connection} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\nX-Webhook-Signature: ${signature}\r\nExpect: 100-continue\r\n\r\n`,
    );
    await until(() => answer.includes('100 Continue'), 'it reads the request');
    receiver.child.kill('SIGTERM');
    await until(async () => (await said()).includes('SIGTERM'), 'it has heard');
    await expect(post(body)).rejects.toThrow('fetch failed');
    socket.write(body);
    expect(await receiver.exited).toBe(0);
    expect(answer).toContain('HTTP/1.1 202');
    expect(answer).toContain('Connection: close');
    // Each line has its time and its level, and the last one the count that no earlier line has shown.
    const lines = (await said()).trimEnd().split('\n');
    for (const line of lines) expect(line).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (INFO |WARN ) \S/);
    expect(lines.filter((line) => line.includes('accepted 1 notice')).map((line) => line.slice(27))).toEqual([
      `${stack.connection} accepted 1 notice notices=1 total=1 resources={"tasks":1}`,
      `${stack.connection} accepted 1 notice notices=1 total=2 resources={"tasks":1}`,
    ]);
    // The command sends the remaining spans when it exits.
    const notice = named('SignalWithStartWorkflow:changeNoticeWorkflow');
    expect(notice?.parentSpanId).toBeUndefined();
    expect(notice?.attributes).toMatchObject({
      'worktrack.connection': stack.connection,
      'worktrack.resource': 'tasks',
    });
    expect(named('RunActivity:worktrack.run')?.traceId).toBe(notice?.traceId);
    await worker.signal('SIGTERM');
    await collector.close();
    const printed = [await receiver.output(), await worker.output()].flatMap(Object.values).join('\n');
    expect(printed).toContain('POST /hooks/');
    expect(printed).not.toContain(WEBHOOK_SECRET);
  });

  it('writes only JSON to stderr with --log-format json', async () => {
    stack = await startNoticeStack();
    const { receiver, url, said } = await receiving(command('--log-format', 'json'));
    expect((await sender(url, stack.connection)('{"resource":"tasks"}')).status).toBe(202);
    expect((await sender(url, stack.connection)('{}', {})).status).toBe(401);
    await receiver.signal('SIGTERM');
    expect(await receiver.exited).toBe(0);
    const lines = (await said())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    for (const line of lines)
      expect(line).toMatchObject({
        time: expect.stringMatching(/Z$/),
        level: expect.stringMatching(/^(info|warn)$/),
      });
    expect(lines).toContainEqual(
      expect.objectContaining({
        message: 'accepted 1 notice',
        connection: stack.connection,
        notices: 1,
        total: 1,
        resources: { tasks: 1 },
      }),
    );
    await stack.temporal.client.workflow
      .getHandle(`worktrack/${stack.connection}/notices/tasks`)
      .terminate('end of the test');
  });

  it('serves every connection with a webhook section, on the address of each or on one for all', async () => {
    stack = await startNoticeStack({ sync: '{}' });
    const folder = join(stack.folder, 'secrets');
    await mkdir(folder);
    const secret = join(folder, 'secret');
    await writeFile(secret, WEBHOOK_SECRET, { mode: 0o644 });
    const more = (name: string, webhook: string) =>
      `  ${name}: { baseUrl: "http://127.0.0.1:1", apiKey: { env: K }, lake: { url: "s3://${name}" }, resources: [projects], ${webhook} }\n`;
    const token = `webhook: { listen: "localhost:0", signature: { algorithm: token, secret: { file: ${secret} } } }`;
    await writeFile(
      stack.configFile,
      (await readFile(stack.configFile, 'utf8')) +
        more('second', token) +
        more('third', 'webhook: { listen: "127.0.0.1:0", signature: none }') +
        more('polled', 'deletes: mark'),
    );
    const { url, said, receiver } = await receiving(command());
    await until(async () => (await said()).includes('/hooks/second'), 'both listen');
    const places = [...(await said()).matchAll(/http:\S+\d/g)].map(([place]) => place);
    expect(new Set(places).size).toBe(2);
    expect(await said()).toContain('can be read by every user');
    const body = '{"resource":"projects"}';
    const status = (place: string, name: string, headers: Record<string, string>) =>
      sender(place, name)(body, headers).then((response) => response.status);
    const withToken = { 'X-Webhook-Signature': WEBHOOK_SECRET };
    expect(await status(places[1]!, 'second', withToken)).toBe(202);
    expect(await status(url, 'second', withToken)).toBe(404);
    expect(await status(url, 'third', {})).toBe(202);
    expect(await status(url, 'polled', {})).toBe(404);
    await receiver.signal('SIGTERM');

    const all = await receiving(command('--listen', '127.0.0.1:0'));
    expect(await status(all.url, 'second', withToken)).toBe(202);
    expect(await status(all.url, 'third', {})).toBe(202);
    await all.receiver.signal('SIGINT');
    expect(await all.receiver.exited).toBe(0);

    const one = await receiving(command('--connection', 'second'));
    expect(await status(one.url, 'second', withToken)).toBe(202);
    expect(await status(one.url, 'third', {})).toBe(404);

    const [open, taken] = await Promise.all([
      runCommand(stack, command('--listen', '0.0.0.0:0')),
      runCommand(stack, command('--connection', 'second', '--listen', new URL(one.url).host)),
    ]);
    expect([open.code, open.stderr]).toEqual([2, expect.stringContaining('notices of third are not signed')]);
    expect([taken.code, taken.stderr]).toEqual([
      2,
      expect.stringContaining('another process uses this port'),
    ]);
    for (const name of ['second', 'third']) {
      await stack.temporal.client.workflow
        .getHandle(`worktrack/${name}/notices/projects`)
        .terminate('end of the test');
    }
  });

  it('reports missing settings with exit code 2, and exits with 0 on a signal before Temporal answers', async () => {
    stack = await startNoticeStack();
    const [unset, wrong] = await Promise.all([
      runCommand(stack, command(), { WORKTRACK_WEBHOOK_SECRET: '' }),
      runCommand(stack, command('--listen', '8080')),
    ]);
    expect([unset.code, unset.stderr]).toEqual([
      2,
      expect.stringContaining('WORKTRACK_WEBHOOK_SECRET is empty'),
    ]);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('--listen: found')]);
    const waiting = startCommand(stack, command(), { TEMPORAL_ADDRESS: '127.0.0.1:1' });
    running.push(waiting);
    await until(async () => {
      const { stderr } = await waiting.output().catch(() => ({ stderr: '' }));
      return stderr.includes('unreachable');
    }, 'it has tried');
    await waiting.signal('SIGTERM');
    expect(await waiting.exited).toBe(0);
    const without = (await readFile(stack.configFile, 'utf8')).replace(/^ {4}webhook:\n( {6}.*\n)+/m, '');
    await writeFile(stack.configFile, without);
    const none = await runCommand(stack, command());
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('has a webhook section')]);
    expect(none.stderr).not.toContain('    at ');
  });
});
