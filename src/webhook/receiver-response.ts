import type { ServerResponse } from 'node:http';

/** The receiver's response to a request. Senders act on the status; the body is for people. */
export interface Answer {
  readonly status: 200 | 202 | 401 | 404 | 405 | 413 | 503;
  /** An object is sent as JSON, a text as it is. */
  readonly body: Readonly<Record<string, unknown>> | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Closes the connection, so that the rest of the request is not read. */
  readonly close?: true;
}

/** When a sender may retry, in seconds. */
const RETRY_AFTER = '5';

export function refusal(status: Answer['status'], message: string): Answer {
  return { status, body: { message } };
}

export function unavailable(message: string): Answer {
  return { status: 503, body: { message }, headers: { 'Retry-After': RETRY_AFTER } };
}

export function write(response: ServerResponse, answer: Answer): void {
  if (response.headersSent || response.destroyed) return;
  const isText = typeof answer.body === 'string';
  const text = isText ? (answer.body as string) : `${JSON.stringify(answer.body)}\n`;
  response.writeHead(answer.status, {
    'Content-Type': isText ? 'text/plain; charset=utf-8' : 'application/json',
    'Content-Length': Buffer.byteLength(text),
    'Cache-Control': 'no-store',
    ...(answer.close === true ? { Connection: 'close' } : {}),
    ...answer.headers,
  });
  response.end(text);
}
