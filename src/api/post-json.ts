import type { Millis } from '../core/brands.js';
import { parseRetryAfter } from '../core/parse-retry-after.js';
import { systemCode } from '../core/system-error.js';
import { headerOf } from './body.js';
import { TransientError } from './errors.js';
import { HttpConnections } from './http-connections.js';

/** What a receiver answered. */
export interface JsonAnswer {
  readonly status: number;
  /** The wait that the receiver asks for; `null`: none. */
  readonly retryAfterMs: Millis | null;
  /** The beginning of the body, as it is. */
  readonly text: string;
}

interface JsonPost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
  /** Limit for the whole exchange. */
  readonly timeoutMs: Millis;
  readonly signal?: AbortSignal | undefined;
  /** The receiver's name for messages, which never contain the URL. */
  readonly name: string;
}

/** Up to this size the body is read, bytes. */
const MAX_RESPONSE_BYTES = 64 * 1024;
/** Characters of the body that are kept. */
const MAX_TEXT = 2000;

/**
 * Posts a JSON object once, without retries and redirects.
 *
 * @throws ConfigurationError for an invalid proxy; TransientError without a response, and the signal's reason when aborted
 */
export async function postJson(post: JsonPost): Promise<JsonAnswer> {
  const { url, timeoutMs, signal, name } = post;
  const limits = { connectTimeoutMs: timeoutMs, headersTimeoutMs: timeoutMs, bodyTimeoutMs: timeoutMs };
  // Posts are rare, so no connection is kept.
  const connections = new HttpConnections(new URL(url).origin, { connections: 1, ...limits });
  const timeout = AbortSignal.timeout(timeoutMs);
  const ended = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  try {
    ended.throwIfAborted();
    return await exchangeOnce(connections, post, ended);
  } catch (error) {
    signal?.throwIfAborted();
    const why = timeout.aborted ? `no answer within ${timeoutMs / 1000} s` : systemCode(error);
    // Only the code: messages of the HTTP library may contain the address and headers.
    const problem = `${name} cannot be reached: ${why ?? 'the connection failed'}`;
    throw new TransientError(problem, { reason: 'network' });
  } finally {
    await connections.close();
  }
}

function exchangeOnce(
  connections: HttpConnections,
  { url, headers, body }: JsonPost,
  ended: AbortSignal,
): Promise<JsonAnswer> {
  const { pathname, search } = new URL(url);
  const sent = {
    method: 'POST',
    path: pathname + search,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let head: Pick<JsonAnswer, 'status' | 'retryAfterMs'> | null = null;
    /** With a status, a body that is cut only shortens the text. */
    const end = (error?: unknown): void => {
      const text = Buffer.concat(chunks).toString('utf8').slice(0, MAX_TEXT);
      if (head === null) reject(error);
      else resolve({ ...head, text });
    };
    const abort = connections.send(sent, {
      onStart: () => {},
      onHead(status, received) {
        const clock = { serviceDateMs: null, nowMs: Date.now() };
        head = { status, retryAfterMs: parseRetryAfter(headerOf(received, 'retry-after'), clock) };
      },
      onData(chunk) {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes > MAX_RESPONSE_BYTES) abort(new Error('the rest is not read'));
      },
      onEnd: end,
      onError: end,
    });
    ended.addEventListener('abort', () => abort(ended.reason as Error), { once: true });
  });
}
