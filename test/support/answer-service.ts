import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A request for a list, or for one record of it. */
export interface Asked {
  /** `null`: the list. */
  readonly id: string | null;
  readonly query: URLSearchParams;
  /** From 1. */
  readonly number: number;
  readonly headers: IncomingMessage['headers'];
}

/** A response: a body with 200, or all of it. `null`: the function has sent it. */
type Answer =
  | string
  | { readonly status: number; readonly body?: string; readonly headers?: Record<string, string | string[]> }
  | null;

/** A service of one list whose answers a test writes. It ends with the test. */
export class AnswerService {
  readonly requests: Asked[] = [];
  readonly #server = createServer((request, response) => {
    const url = new URL(request.url!, 'http://service');
    const [, id] = /^\/api\/public\/v2\/[^/]+\/(.+)$/.exec(url.pathname) ?? [];
    const asked: Asked = {
      id: id === undefined ? null : decodeURIComponent(id),
      query: url.searchParams,
      number: this.requests.length + 1,
      headers: request.headers,
    };
    this.requests.push(asked);
    const answer = this.answer(asked, response);
    if (answer === null) return;
    const {
      status,
      body = '',
      headers = {},
    } = typeof answer === 'string' ? { status: 200, body: answer } : answer;
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body);
  });

  private constructor(public answer: (asked: Asked, response: ServerResponse) => Answer) {}

  static async start(answer: AnswerService['answer']): Promise<AnswerService> {
    const service = new AnswerService(answer);
    await new Promise<void>((resolve) => service.#server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      service.#server.closeAllConnections();
      service.#server.close();
    });
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }
}

/** A page of records. */
export function pageOf(records: readonly object[], nextCursor: string | null = null): string {
  return JSON.stringify({ data: records, page: { limit: 1000, nextCursor } });
}
