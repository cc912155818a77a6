import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { residentBytes } from '../../support/memory.js';
import { type NoticeStack, signedNotice, startNoticeStack, WEBHOOK_SECRET } from '../../support/notices.js';
import { startCommand } from '../../support/processes.js';
import { longOnly } from '../../support/seeds.js';
import { until } from '../../support/stack.js';
import { startTcpProxy } from '../../support/tcp-proxy.js';

const NOTICES = 100_000;
/** Memory that a flood may add to that of an idle receiver. */
const MOST_ADDED_BYTES = 200 * 1024 ** 2;

let stack: NoticeStack;
afterEach(() => stack?.stop());

async function startReceiver(temporalAddress: string) {
  const receiver = startCommand(stack, ['webhook', '--config', stack.configFile], {
    WORKTRACK_WEBHOOK_SECRET: WEBHOOK_SECRET,
    TEMPORAL_ADDRESS: temporalAddress,
  });
  stack.beforeStop(() => receiver.signal('SIGKILL'));
  const printed = async () => (await receiver.output().catch(() => ({ stderr: '' }))).stderr;
  await until(async () => (await printed()).includes('POST /hooks/'), 'it listens');
  const url = new URL(/http:\S+\d/.exec(await printed())![0]);
  const pid = receiver.child.pid!;
  return { url, pid, before: await residentBytes(pid) };
}

const SENDERS = 60;
/** Each has one byte, and takes six on the wire. */
const CHUNKS = 100_000;

describe('`worktrack webhook` under senders that sign nothing', () => {
  // test/unit/webhook/body.test.ts: "takes little more memory than the body for chunks of one byte".
  longOnly('keeps its memory small while many send bodies in chunks of one byte', async () => {
    stack = await startNoticeStack();
    const { url, pid, before } = await startReceiver(stack.servers.temporalAddress);
    const head = `POST /hooks/${stack.connection} HTTP/1.1\r\nHost: ${url.host}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const piece = Buffer.from('1\r\nx\r\n'.repeat(1_000));
    let most = before;
    let ended = 0;
    const send = async (): Promise<void> => {
      const sender = connect(Number(url.port), url.hostname);
      const closed = new Promise<void>((resolve) => sender.on('close', () => resolve()));
      sender.on('error', () => {});
      sender.resume();
      sender.write(head);
      for (let sent = 0; sent < CHUNKS && !sender.destroyed; sent += 1_000)
        if (!sender.write(piece))
          await Promise.race([closed, new Promise<void>((resolve) => sender.once('drain', () => resolve()))]);
      sender.end('0\r\n\r\n');
      await closed;
      ended++;
    };
    const all = Promise.all(Array.from({ length: SENDERS }, send));
    await until(async () => {
      most = Math.max(most, await residentBytes(pid));
      return ended === SENDERS;
    }, 'all are answered');
    await all;
    console.info(`receiver: ${mebibytes(before)} MiB at rest, ${mebibytes(most)} MiB at most`);
    expect(most - before).toBeLessThan(MOST_ADDED_BYTES);
  });
});

describe('`worktrack webhook` while Temporal is slow', () => {
  it('keeps its memory small under 100,000 pipelined signed notices', async () => {
    stack = await startNoticeStack();
    const proxy = await startTcpProxy(stack.servers.temporalAddress);
    stack.beforeStop(() => proxy.close());
    const { url, pid, before } = await startReceiver(proxy.address);
    proxy.stall();

    const body = '{"resource":"tasks"}';
    const headers = { Host: url.host, 'Content-Length': String(body.length), ...signedNotice(body) };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const notice = Buffer.from(`POST /hooks/${stack.connection} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
    const sender = connect(Number(url.port), url.hostname);
    let answers = '';
    sender.on('error', () => {});
    sender.on('data', (text) => {
      answers += String(text);
    });
    let most = before;
    const batch = Buffer.concat(Array.from({ length: 1_000 }, () => notice));
    for (let sent = 0; sent < NOTICES; sent += 1_000) sender.write(batch);
    // Pipelined answers come in order, so the first ones come once the first notice has reached its time limit.
    await until(async () => {
      most = Math.max(most, await residentBytes(pid));
      return (answers.match(/HTTP\/1\.1 503/g) ?? []).length >= 2_000;
    }, 'the accepted notices are answered');
    expect(answers).toContain('Retry-After: 5');
    expect(answers).not.toContain('HTTP/1.1 202');
    sender.destroy();
    console.info(`receiver: ${mebibytes(before)} MiB at rest, ${mebibytes(most)} MiB at most`);
    expect(most - before).toBeLessThan(MOST_ADDED_BYTES);
  });
});

function mebibytes(bytes: number): number {
  return Math.round(bytes / 1024 ** 2);
}
