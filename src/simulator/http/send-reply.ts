import type { ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { constants, gzip as gzipCallback } from 'node:zlib';
import type { Fault } from '../faults/fault-types.js';
import type { Reply } from './reply.js';

const gzip = promisify(gzipCallback);
const GZIP_FROM_BYTES = 1024;

/** The response that a fault sends instead of the real one; null if the fault only changes how the response is sent. */
export function faultReply(fault: Fault, nowMs: number, message: string): Reply | null {
  switch (fault.kind) {
    case 'status': {
      const body = Buffer.from(fault.body ?? JSON.stringify({ message }));
      const headers: Record<string, string> = { 'content-type': fault.contentType ?? 'application/json' };
      if (typeof fault.retryAfter === 'object') {
        headers['retry-after'] = new Date(nowMs + fault.retryAfter.inMs).toUTCString();
      } else if (fault.retryAfter !== undefined) headers['retry-after'] = String(fault.retryAfter);
      return { status: fault.status, headers, body };
    }
    case 'html': {
      const body = Buffer.from(fault.body ?? '<!doctype html><html><body>Please sign in.</body></html>');
      return { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' }, body };
    }
    case 'wrong-envelope': {
      const body = Buffer.from(fault.body ?? '{"items":[]}');
      return { status: 200, headers: { 'content-type': 'application/json' }, body };
    }
    case 'redirect':
      return { status: fault.status ?? 307, headers: { location: fault.location }, body: Buffer.alloc(0) };
    default:
      return null;
  }
}

/** Whether a body is compressed. */
interface GzipChoice {
  readonly mode: 'large' | 'always' | 'off';
  readonly accepted: string | undefined;
}

/** Sends a reply, changed by `fault`. Resolves with the status sent, or 0 if the connection was reset. */
export async function sendReply(
  response: ServerResponse,
  reply: Reply,
  fault: Fault | null,
  choice: GzipChoice,
): Promise<number> {
  const headers: Record<string, string> = { ...reply.headers };
  let { body } = reply;
  if (fault?.kind === 'lose-response') {
    response.socket?.resetAndDestroy();
    return 0;
  }
  if (fault?.kind === 'truncated-json') body = body.subarray(0, body.length >> 1);
  if (fault?.kind === 'bad-gzip') {
    headers['content-encoding'] = 'gzip';
    body = Buffer.from(await gzip(body));
    body.fill(0xff, body.length >> 1);
  } else if (headers['content-encoding'] === undefined && wantsGzip(choice, body.length)) {
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

function wantsGzip(choice: GzipChoice, bytes: number): boolean {
  if (choice.mode === 'off' || bytes === 0 || !/\bgzip\b/.test(choice.accepted ?? '')) return false;
  return choice.mode === 'always' || bytes > GZIP_FROM_BYTES;
}

async function drip(response: ServerResponse, body: Buffer, bytes: number, everyMs: number): Promise<void> {
  for (let at = 0; at < body.length && !response.destroyed; at += bytes) {
    response.write(body.subarray(at, at + bytes));
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  response.end();
}
