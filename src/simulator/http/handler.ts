import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { RequestRecord } from '../admin/stats.js';
import type { Fault, FaultPlan } from '../faults/fault-types.js';
import { pageOf } from '../faults/faults.js';
import type { Service } from '../service.js';
import { handleCall, withEcho } from './api.js';
import { type Call, readCall } from './call.js';
import { errorReply } from './reply.js';
import { faultReply, sendReply } from './send-reply.js';

const MAX_BODY_BYTES = 1024 * 1024;

/** Handles one request to the API, including faults and statistics. */
export async function handleApi(
  service: Service,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const received = readCall(request.method ?? 'GET', request.url ?? '/', request.headers, service.codec);
  const call = service.odd.reduce((changed, odd) => odd.request?.(changed) ?? changed, received);
  const { latencyMs, fault } = planFaults(service, call);
  const { record, end } = service.stats.begin(arrivalOf(call, fault, latencyMs));
  response.once('close', end);
  if (latencyMs > 0) await new Promise((resolve) => setTimeout(resolve, latencyMs));
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
  const reply = service.odd.reduce((changed, odd) => odd.reply?.(changed, received) ?? changed, normal);
  const choice = { mode: service.options.gzip, accepted: request.headers['accept-encoding'] };
  // Ends the request in the statistics before the last byte is sent, so that a client that has received the response does
  // not find the request still in flight.
  record.status = reply.status;
  if (fault === null) end();
  record.status = await sendReply(response, reply, fault, choice);
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

/** The body, or null if it is larger than `maxBytes`. */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer | null> {
  if (request.method === 'GET') return Buffer.alloc(0);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= maxBytes) chunks.push(chunk);
  }
  return bytes > maxBytes ? null : Buffer.concat(chunks);
}
