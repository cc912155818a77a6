import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
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
    const result = await bodies.read(request, 900);
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
