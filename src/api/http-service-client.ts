import type { Agent } from 'undici';
import type { ByteString, Cursor } from '../core/brands.js';
import { Attempts, type Operation } from './attempts.js';
import { NotFoundError } from './errors/not-found-error.js';
import { RejectedError } from './errors/rejected-error.js';
import type {
  FetchRequest,
  ListRequest,
  Parse,
  Received,
  SendRequest,
  ServiceClient,
  ServiceClientOptions,
} from './service-client.js';
import { listQuery, resourceUrl, UnsendableError } from './url.js';

/** Turns the three kinds of request into operations; what becomes of them is the business of `Attempts`. */
export class HttpServiceClient implements ServiceClient {
  readonly #root: string;
  readonly #agent: Agent;
  readonly #attempts: Attempts;
  #closed = false;

  constructor(root: string, agent: Agent, options: ServiceClientOptions) {
    this.#root = root;
    this.#agent = agent;
    this.#attempts = new Attempts(agent, options);
  }

  async listPage<T>(request: ListRequest, parse: Parse<T>): Promise<Received<T>> {
    const url = this.#url(request, 'GET', request.path.split('/'), () => listQuery(request));
    return this.#run({ ...read(request, url), cursor: request.cursor }, parse);
  }

  async fetchById<T>(request: FetchRequest, parse: Parse<T>): Promise<Received<T> | null> {
    const url = this.#url(request, 'GET', [...request.path.split('/'), request.id], () => '');
    try {
      return await this.#run(read(request, url), parse);
    } catch (error) {
      if (error instanceof NotFoundError) return null;
      throw error;
    }
  }

  async send(request: SendRequest): Promise<Received<ByteString>> {
    const { resource, method, signal, onWait, idempotencyKey } = request;
    const url = this.#url(request, method, request.path, () => '');
    if (idempotencyKey !== undefined && !/^[\x21-\x7e]+$/.test(idempotencyKey)) {
      throw unsendable(
        request,
        method,
        url,
        new UnsendableError('An Idempotency-Key must be visible ASCII.'),
      );
    }
    const repeatable = method === 'PUT' || idempotencyKey !== undefined;
    const operation: Operation = {
      ...{ resource, method, url, signal, onWait, cursor: null, body: request.body },
      headers: {
        'content-type': 'application/json',
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      attempts: request.attempts ?? (repeatable ? undefined : 1),
    };
    try {
      return await this.#run(operation, (body) => body);
    } catch (error) {
      // For a write, "no such thing" is a verdict on the row, like any other 4xx.
      if (error instanceof NotFoundError) throw asRejected(error);
      throw error;
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#agent.close();
  }

  #run<T>(operation: Operation, parse: Parse<T>): Promise<Received<T>> {
    if (this.#closed) throw new Error('The service client has been closed.');
    return this.#attempts.run(operation, parse);
  }

  #url(
    request: { readonly resource: string; readonly cursor?: Cursor | null },
    method: string,
    segments: readonly string[],
    query: () => string,
  ): string {
    try {
      return resourceUrl(this.#root, segments) + query();
    } catch (error) {
      if (error instanceof UnsendableError) throw unsendable(request, method, this.#root, error);
      throw error;
    }
  }
}

function read(request: ListRequest | FetchRequest, url: string): Operation {
  const { resource, signal, onWait } = request;
  return {
    method: 'GET',
    resource,
    url,
    signal,
    onWait,
    cursor: null,
    headers: {},
    body: null,
    attempts: undefined,
  };
}

function unsendable(
  request: { readonly resource: string; readonly cursor?: Cursor | null },
  method: string,
  url: string,
  cause: UnsendableError,
): RejectedError {
  const context = { method, resource: request.resource, url, cursor: request.cursor ?? null, attempt: 1 };
  return new RejectedError(`${request.resource}: ${cause.message} Nothing was sent.`, {
    request: context,
    cause,
  });
}

function asRejected(error: NotFoundError): RejectedError {
  const { method, resource, url, cursor, attempt, status, serviceMessage } = error;
  const request = {
    method: method ?? '',
    resource: resource ?? '',
    url: url ?? '',
    cursor,
    attempt: attempt ?? 1,
  };
  return new RejectedError(error.message, { request, status, serviceMessage });
}
