import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { constants, gzip as gzipCallback } from 'node:zlib';
import { type Fault, type FaultPlan, pageOf } from '../faults.js';
import { type Call, readBody, readCall } from '../http/call.js';
import { errorReply, type Reply, replyWith } from '../http/reply.js';
import type { Service } from '../simulated-service.js';
import type { TunableOptions } from '../simulator-options.js';
import type { RequestRecord } from '../stats.js';
import { handleCall, withEcho } from './api.js';

const MAX_BODY_BYTES = 1024 * 1024;

/** Handles one request to the API, including faults and statistics. */
export async function handleApi(
  service: Service,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const received = readCall(request.method ?? 'GET', request.url ?? '/', request.headers, service.codec);
  const call = service.odd.reduce((changed, odd) => odd.request?.(changed, service) ?? changed, received);
  const { latencyMs, fault } = planFaults(service, call);
  const { record, end } = service.stats.begin(arrivalOf(call, fault, latencyMs));
  response.once('close', end);
  if (latencyMs > 0) await sleep(latencyMs);
  await service.hooks.run(call);
  if (fault?.kind === 'hang') return;
  if (fault?.kind === 'reset') {
    request.socket.resetAndDestroy();
    return;
  }
  const body = await readBody(request, MAX_BODY_BYTES);
  if (service.options.date === 'send')
    response.setHeader('date', new Date(service.clock.now()).toUTCString());
  else response.sendDate = false;
  const now = service.clock.now();
  const instead = fault === null ? null : faultReply(fault, now, withEcho(service, call, 'Simulated fault.'));
  const normal =
    instead ??
    (body === null ? errorReply(413, 'The body is too large.') : handleCall(service, call, body, fault));
  const reply = service.odd.reduce(
    (changed, odd) => odd.reply?.(changed, received, service) ?? changed,
    normal,
  );
  const gzipped = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '') ? service.options.gzip : 'off';
  // Ends the request in the statistics before the last byte is sent, so that a client that has received the response does
  // not find the request still in flight.
  record.status = reply.status;
  if (fault === null) end();
  record.status = await sendReply(response, reply, fault, gzipped);
}

/** The faults of the rules, or the fault of an odd service. */
function planFaults(service: Service, call: Call): FaultPlan {
  const { latencyMs, fault } = service.faults.plan(call);
  for (const odd of fault === null ? service.odd : []) {
    const own = odd.fault?.(call) ?? null;
    if (own?.kind === 'latency') return { latencyMs: latencyMs + own.ms, fault: null };
    if (own !== null) return { latencyMs, fault: own };
  }
  return { latencyMs, fault };
}

function arrivalOf(call: Call, fault: Fault | null, latencyMs: number): Omit<RequestRecord, 'inFlight'> {
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

const gzip = promisify(gzipCallback);
const GZIP_FROM_BYTES = 1024;

/** The response that a fault sends instead of the real one; null if the fault only changes how the response is sent. */
function faultReply(fault: Fault, nowMs: number, message: string): Reply | null {
  switch (fault.kind) {
    case 'status': {
      const { status, body = JSON.stringify({ message }), contentType, retryAfter } = fault;
      const wait =
        typeof retryAfter === 'object' ? new Date(nowMs + retryAfter.inMs).toUTCString() : retryAfter;
      return replyWith(status, body, {
        ...(contentType === undefined ? {} : { 'content-type': contentType }),
        ...(wait === undefined ? {} : { 'retry-after': String(wait) }),
      });
    }
    case 'html': {
      const body = fault.body ?? '<!doctype html><html><body>Please sign in.</body></html>';
      return replyWith(200, body, { 'content-type': 'text/html; charset=utf-8' });
    }
    case 'wrong-envelope':
      return replyWith(200, fault.body ?? '{"items":[]}');
    case 'redirect':
      return { status: fault.status ?? 307, headers: { location: fault.location }, body: Buffer.alloc(0) };
    default:
      return null;
  }
}

/** Sends a reply, changed by `fault`. Resolves with the status sent, or 0 if the connection was reset. */
async function sendReply(
  response: ServerResponse,
  reply: Reply,
  fault: Fault | null,
  gzipped: TunableOptions['gzip'],
): Promise<number> {
  const headers: Record<string, string> = { ...reply.headers };
  let { body } = reply;
  if (fault?.kind === 'lose-response') {
    response.socket?.resetAndDestroy();
    return 0;
  }
  if (fault?.kind === 'broken-head') {
    // Node refuses to write such a head.
    const head = `HTTP/1.1 ${reply.status} OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n${fault.line}\r\n\r\n`;
    response.socket?.end(Buffer.concat([Buffer.from(head), body]));
    return reply.status;
  }
  if (fault?.kind === 'truncated-json') body = body.subarray(0, body.length >> 1);
  if (fault?.kind === 'bad-gzip') {
    headers['content-encoding'] = 'gzip';
    body = Buffer.from(await gzip(body));
    body.fill(0xff, body.length >> 1);
  } else if (headers['content-encoding'] === undefined && isGzipped(gzipped, body.length)) {
    headers['content-encoding'] = 'gzip';
    headers.vary = 'accept-encoding';
    // The lowest level takes about 3 ms for a page of 1,000 time entries, in the thread pool.
    body = await gzip(body, { level: constants.Z_BEST_SPEED });
  }
  // 204 has no body, and no length of one (RFC 9110 8.6).
  if (reply.status !== 204) headers['content-length'] ??= String(body.length);
  response.writeHead(reply.status, headers);
  if (fault?.kind === 'reset-mid-body') {
    // Resets after the first half is written. Otherwise the client would not receive the status.
    await new Promise<void>((resolve) =>
      response.write(body.subarray(0, Math.max(1, body.length >> 1)), () => resolve()),
    );
    response.socket?.resetAndDestroy();
    return 0;
  }
  if (fault?.kind === 'drip') await drip(response, body, fault.bytes ?? 64, fault.everyMs ?? 10);
  else response.end(body);
  return reply.status;
}

function isGzipped(mode: TunableOptions['gzip'], bytes: number): boolean {
  return bytes > 0 && (mode === 'always' || (mode === 'large' && bytes > GZIP_FROM_BYTES));
}

async function drip(response: ServerResponse, body: Buffer, bytes: number, everyMs: number): Promise<void> {
  for (let at = 0; at < body.length && !response.destroyed; at += bytes) {
    response.write(body.subarray(at, at + bytes));
    await sleep(everyMs);
  }
  response.end();
}
