import { EventEmitter, once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { BodyReader, type ReadBody } from '../../../src/webhook/handle-request.js';

/** A server that reads bodies of up to 900 bytes and holds at most 1,000 bytes in total. */
async function start() {
  const bodies = new BodyReader(1_000);
  const results: ReadBody[] = [];
  let received = 0;
  const server = createServer(async (request, response) => {
    request.on('data', (chunk) => {
      received += chunk.length;
    });
    const result = await bodies.read(request, 900, 'acme');
    results.push(result);
    response.end('body' in result ? 'read' : result.failure);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const open = () => {
    const sending = httpRequest({ port, host: '127.0.0.1', method: 'POST' });
    sending.on('error', () => {});
    const answer = once(sending, 'response').then(async ([response]) => {
      const [text] = await once(response, 'data');
      return String(text);
    });
    answer.catch(() => {});
    return { sending, answer };
  };
  return { open, results, received: () => received };
}

it('limits the memory of all bodies together, and has room again after one is read', async () => {
  const { open, received } = await start();
  const first = open();
  first.sending.write(Buffer.alloc(600));
  await expect.poll(received).toBe(600);
  const second = open();
  second.sending.end(Buffer.alloc(600));
  expect(await second.answer).toBe('full');
  first.sending.end();
  expect(await first.answer).toBe('read');
  const third = open();
  third.sending.end(Buffer.alloc(900));
  expect(await third.answer).toBe('read');
});

it('has room again if a sender disconnects during a body', async () => {
  const { open, results, received } = await start();
  const gone = open();
  gone.sending.write(Buffer.alloc(800));
  await expect.poll(received).toBe(800);
  gone.sending.destroy();
  await expect.poll(() => results).toEqual([{ failure: 'disconnected' }]);
  const next = open();
  next.sending.end(Buffer.alloc(900));
  expect(await next.answer).toBe('read');
});

it('responds to a sender whose oversized body never ends', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { open, received } = await start();
  const { sending, answer } = open();
  sending.write(Buffer.alloc(901));
  await expect.poll(received).toBe(901);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await answer).toBe('too-large');
  sending.destroy();
});

it('takes little more memory than the body for chunks of one byte', async () => {
  const bodies = new BodyReader(64 * 1024 ** 2);
  const senders = Array.from({ length: 20 }, () => {
    const request = Object.assign(new EventEmitter(), { headers: {}, resume: () => {} });
    const read = bodies.read(request as unknown as IncomingMessage, 1024 ** 2, 'acme');
    return { request, read };
  });
  const before = process.memoryUsage();
  for (let byte = 0; byte < 25_000; byte++)
    for (const { request } of senders) request.emit('data', Buffer.alloc(1));
  const { arrayBuffers } = process.memoryUsage();
  // 20 bodies of 25,000 bytes. Garbage that is not collected yet is part of the figure.
  expect(arrayBuffers - before.arrayBuffers).toBeLessThan(64 * 1024 ** 2);
  for (const { request } of senders) request.emit('end');
  for (const { read } of senders) expect(await read).toMatchObject({ body: Buffer.alloc(25_000) });
});

it('leaves room for other connections while the senders of one fill theirs', async () => {
  const bodies = new BodyReader(1_000_000);
  const open = (connection: string) => {
    const request = Object.assign(new EventEmitter(), { headers: {}, resume: () => {} });
    return { request, read: bodies.read(request as unknown as IncomingMessage, 100_000, connection) };
  };
  const filling = Array.from({ length: 20 }, () => open('noisy'));
  for (const { request } of filling) request.emit('data', Buffer.alloc(90_000));
  const other = open('quiet');
  other.request.emit('data', Buffer.alloc(90_000));
  other.request.emit('end');
  expect(await other.read).toHaveProperty('body');
  for (const { request } of filling) request.emit('end');
  const ended = await Promise.all(filling.map(({ read }) => read));
  expect(ended.filter((one) => 'failure' in one && one.failure === 'full').length).toBe(15);
});
