import type { ServerResponse } from 'node:http';

/** What the receiver says to a request; all of it is for people, but for the status. */
export interface Answer {
  readonly status: 200 | 202 | 401 | 404 | 405 | 413 | 503;
  readonly body: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Ends the connection: what the sender may still be sending is not read. */
  readonly close?: true;
}

/** After this a sender may try again, in seconds. */
const RETRY_AFTER = '5';

export function refusal(status: Answer['status'], message: string): Answer {
  return { status, body: { message } };
}

export function unavailable(message: string): Answer {
  return { status: 503, body: { message }, headers: { 'Retry-After': RETRY_AFTER } };
}

export function write(response: ServerResponse, answer: Answer): void {
  if (response.headersSent || response.destroyed) return;
  const text = `${JSON.stringify(answer.body)}\n`;
  response.writeHead(answer.status, {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    ...(answer.close === true ? { Connection: 'close' } : {}),
    ...answer.headers,
  });
  response.end(text);
}
