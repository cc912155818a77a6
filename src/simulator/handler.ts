import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { answer, withEcho } from './api.js';
import { type Call, readCall } from './call.js';
import { deliver, replacement } from './deliver.js';
import type { Fault } from './fault-types.js';
import { pageOf } from './faults.js';
import { errorReply } from './reply.js';
import type { Service } from './service.js';
import type { RequestRecord } from './stats.js';

const LARGEST_BODY = 1024 * 1024;

/** Answers one request to the API, faults and statistics included. */
export async function handleApi(
  service: Service,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const call = readCall(request.method ?? 'GET', request.url ?? '/', request.headers, service.codec);
  const { latencyMs, fault } = service.faults.plan(call);
  const record = recordOf(call, fault, latencyMs);
  const end = service.stats.begin(record);
  response.once('close', end);
  if (latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, latencyMs));
  await service.hooks.run(call);
  if (fault?.kind === 'hang') return;
  if (fault?.kind === 'reset') {
    request.socket.resetAndDestroy();
    return;
  }
  const body = await readBody(request, LARGEST_BODY);
  if (service.options.date === 'send')
    response.setHeader('date', new Date(service.clock.now()).toUTCString());
  else response.sendDate = false;
  const now = service.clock.now();
  const instead =
    fault === null ? null : replacement(fault, now, withEcho(service, call, 'Simulated fault.'));
  const reply =
    instead ??
    (body === null ? errorReply(413, 'The body is too large.') : answer(service, call, body, fault));
  const choice = { mode: service.options.gzip, accepted: request.headers['accept-encoding'] };
  // Counted out before the last byte leaves: a client that has its answer must not find the request still under way.
  record.status = reply.status;
  if (fault === null) end();
  record.status = await deliver(response, reply, fault, choice);
}

function recordOf(call: Call, fault: Fault | null, latencyMs: number): RequestRecord {
  const key = call.headers['idempotency-key'];
  return {
    at: performance.timeOrigin + performance.now(),
    method: call.method,
    path: call.target,
    resource: call.resource,
    idempotencyKey: typeof key === 'string' ? key : null,
    page: pageOf(call) ?? null,
    fault: fault?.kind ?? (latencyMs > 0 ? 'latency' : null),
    status: 0,
  };
}

/** The body, or null when it is larger than `most` bytes. */
export async function readBody(request: IncomingMessage, most: number): Promise<Buffer | null> {
  if (request.method === 'GET') return Buffer.alloc(0);
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes <= most) pieces.push(piece);
  }
  return bytes > most ? null : Buffer.concat(pieces);
}
