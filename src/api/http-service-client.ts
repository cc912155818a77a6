import type { Dispatcher } from 'undici';
import { toByteString } from '../core/brands.js';
import { ConfigurationError } from '../core/errors.js';
import { isLoopback } from '../core/notify-url.js';
import type { BodyText } from './body.js';
import { dispatcherFor } from './dispatcher.js';
import { BrokenPromiseError, NotFoundError, RejectedError, type ServiceError } from './errors.js';
import { type Operation, RequestExecutor } from './request-executor.js';
import {
  type FetchRequest,
  isUnprocessed,
  type ListBody,
  type ListRequest,
  mayRepeatWithoutKey,
  outcomeOfFailure,
  type Parse,
  type Received,
  type ReceivedPage,
  type SendOutcome,
  type SendRequest,
  type ServiceClient,
  type ServiceClientOptions,
} from './service-client.js';
import {
  apiRoot,
  cursorTexts,
  displayQuery,
  displayUrl,
  listQuery,
  recordSegments,
  resourceUrl,
  type Segment,
  UnsendableError,
} from './url.js';

/**
 * Creates a client for one connection, with its own pool of keep-alive connections. It sends no request and reads no
 * key yet. Throws ConfigurationError for an invalid proxy, and if the key would be sent unencrypted to another machine.
 */
export function createServiceClient(options: ServiceClientOptions): ServiceClient {
  const { http } = options;
  const root = apiRoot(options.baseUrl);
  const { protocol, hostname, host } = new URL(root);
  // The configuration has the same rule. This is the last place before the key leaves the process.
  if (protocol === 'http:' && !http.allowPlainHttp && !isLoopback(hostname))
    throw new ConfigurationError(
      `baseUrl is plain http:// to ${host}: the API key would be sent unencrypted.`,
      {
        path: 'baseUrl',
        remedy: 'Use https://, or set http.allowPlainHttp if you trust the network.',
      },
    );
  const dispatcher = dispatcherFor(root, {
    connections: http.concurrency,
    maxHeaderSize: MAX_HEADER_BYTES,
    connect: { timeout: http.connectTimeoutMs },
    headersTimeout: http.headersTimeoutMs,
    bodyTimeout: http.bodyTimeoutMs,
  });
  return new HttpServiceClient(root, dispatcher, options);
}

/** Headers of a response. Node's own limit of 16 KiB is less than some gateways send. */
const MAX_HEADER_BYTES = 64 * 1024;

/** What an empty body means on a request without a cursor. */
const EMPTY_LIST = toByteString('{"data":[],"page":{}}');

/** 202: the service is still at work on the answer; 206: a part of it. */
const UNFINISHED: readonly number[] = [202, 206];

/** Turns the three kinds of request into operations for `RequestExecutor`, which sends them. */
class HttpServiceClient implements ServiceClient {
  readonly #root: string;
  readonly #origin: string;
  readonly #dispatcher: Dispatcher;
  readonly #executor: RequestExecutor;
  #closed = false;

  constructor(root: string, dispatcher: Dispatcher, options: ServiceClientOptions) {
    this.#root = root;
    this.#origin = new URL(root).origin;
    this.#dispatcher = dispatcher;
    this.#executor = new RequestExecutor(dispatcher, options);
  }

  async listPage<T>(request: ListRequest, parse: Parse<T, ListBody>): Promise<ReceivedPage<T>> {
    const { cursor, wasRead } = request;
    const target = this.#target(request, request.path.split('/'), () => listQuery(request));
    let isBlank = false;
    const received = await this.#execute(
      { ...readOperation(request, target), wasRead: wasRead === true && cursor === null },
      (body, response) => {
        isBlank = body.first() === null;
        if (isBlank && cursor !== null)
          throw new SyntaxError('the body is empty, perhaps because a proxy cut it');
        if (isBlank && UNFINISHED.includes(response.status))
          throw new SyntaxError('the body is empty, and by the status it is not the whole answer');
        return parse(isBlank ? EMPTY_LIST : body, response);
      },
    );
    return { ...received, isBlank };
  }

  async fetchById<T>(request: FetchRequest, parse: Parse<T>): Promise<Received<T> | null> {
    const segments = recordSegments(request.path, [{ value: request.id, shown: '<id>' }]);
    const target = this.#target(request, segments, () => '');
    try {
      return await this.#execute(readOperation(request, target), (body, response) => {
        if (body.first() === null) throw new BrokenPromiseError('the response has no record');
        return parse(body.whole(), response);
      });
    } catch (error) {
      // 410 means permanently gone.
      if (error instanceof NotFoundError || (error instanceof RejectedError && error.status === 410))
        return null;
      throw error;
    }
  }

  async send<T>(request: SendRequest, parse: Parse<T>): Promise<SendOutcome<T>> {
    let sends = 0;
    let unprocessed = 0;
    const onSend = (): void => {
      sends += 1;
    };
    let throttled = 0;
    const { before = 'never' } = request;
    const onFailure = (error: ServiceError): void => {
      if (!isUnprocessed(error)) return;
      unprocessed += 1;
      if (error.write?.meaning === 'throttled') throttled += 1;
      if (error.write?.meaning === 'limit-in-words') request.onLimit?.();
    };
    try {
      const operation = { ...this.#writeOperation(request, onSend), onFailure };
      const received = await this.#execute(operation, (body, response) => parse(body.whole(), response));
      // A 429 alone is no proof: a proxy may count a request that it has passed on.
      const isRepeated = before !== 'never' || sends - (unprocessed - throttled) > 1;
      return { kind: 'answered', answer: { verdict: 'accepted', received, isRepeated } };
    } catch (error) {
      return outcomeOfFailure({ error, sends, unprocessed, throttled, before });
    }
  }

  #writeOperation(request: SendRequest, onSend: () => void): Operation {
    const { resource, method, body, signal, onWait, keys, idempotencyKey, isExpired } = request;
    const { keyHeader = 'idempotency-key', repeat = 'always' } = request;
    const target = this.#target(request, request.path, () => '');
    if (idempotencyKey !== undefined && !/^[\x21-\x7e]+$/.test(idempotencyKey)) {
      const cause = new UnsendableError('An Idempotency-Key must consist of visible ASCII characters.');
      throw unsendableError(request, cause);
    }
    const repeatable = method === 'PUT' || idempotencyKey !== undefined;
    return {
      ...target,
      ...{ method, resource, body, isExpired, onSend, signal, onWait, keys },
      headers: {
        'content-type': 'application/json',
        ...(idempotencyKey === undefined ? {} : { [keyHeader.toLowerCase()]: idempotencyKey }),
      },
      attempts: request.attempts ?? (repeatable ? undefined : 1),
      ...(repeat === 'never' ? { mayRetry: mayRepeatWithoutKey } : {}),
    };
  }

  keyFingerprint(): Promise<string> {
    return this.#executor.keyFingerprint();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#dispatcher.close();
  }

  #execute<T>(operation: Operation, parse: Parse<T, BodyText>): Promise<Received<T>> {
    if (this.#closed) throw new Error('The service client is closed.');
    return this.#executor.execute(operation, parse);
  }

  #target(
    request: ListRequest | FetchRequest | SendRequest,
    segments: readonly Segment[],
    query: () => string,
  ): Target {
    try {
      const asked = query();
      const url = resourceUrl(this.#root, segments) + asked;
      const origin = this.#origin;
      const ids = segments.flatMap((segment) => (typeof segment === 'string' ? [] : [segment.value]));
      const cursor = 'cursor' in request ? request.cursor : null;
      const records = [...ids, ...(cursor === null ? [] : cursorTexts(cursor))];
      const shown = displayUrl(this.#root, segments) + displayQuery(asked);
      return { origin, path: url.slice(origin.length), displayUrl: shown, records };
    } catch (error) {
      throw error instanceof UnsendableError ? unsendableError(request, error) : error;
    }
  }
}

/** The URL of a request, and its form for messages. */
type Target = Pick<Operation, 'origin' | 'path' | 'displayUrl' | 'records'>;

function readOperation(request: ListRequest | FetchRequest, target: Target): Operation {
  const { resource, signal, onWait, keys, isBackground, mayRetry } = request;
  const headers = { 'cache-control': 'no-cache' };
  return { ...target, method: 'GET', headers, resource, signal, onWait, keys, isBackground, mayRetry };
}

function unsendableError({ resource }: { readonly resource: string }, cause: UnsendableError): RejectedError {
  return new RejectedError(`${resource}: ${cause.message} The request was not sent.`, { resource, cause });
}
