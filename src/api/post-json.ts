import { type Dispatcher, request } from 'undici';
import type { Millis } from '../core/brands.js';
import { parseRetryAfter } from '../core/parse-retry-after.js';
import { proxyFor } from '../core/proxy.js';
import { systemCode } from '../core/system-error.js';
import { headerOf } from './body.js';
import { isChallenge, type ResponseSigns } from './classify-response.js';
import { dispatcherFor } from './dispatcher.js';
import { TransientError } from './errors.js';

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

/** Up to this size the body is read, so that the connection can be reused. */
const MAX_RESPONSE_BYTES = 64 * 1024;
/** Characters of the body that are kept. */
const MAX_TEXT = 2000;

/** The connections through each proxy, which few processes have. Without a proxy, undici's own are used. */
const proxied = new Map<string, Dispatcher>();

function proxyDispatcher(url: string): Dispatcher | null {
  const proxy = proxyFor(url);
  if (proxy === null) return null;
  const dispatcher = proxied.get(proxy.url) ?? dispatcherFor(url, {});
  proxied.set(proxy.url, dispatcher);
  return dispatcher;
}

/**
 * Posts a JSON object once, without retries and redirects.
 *
 * @throws ConfigurationError for an invalid proxy; TransientError without a response of the receiver, and the signal's reason when aborted
 */
export async function postJson(post: JsonPost): Promise<JsonAnswer> {
  const { name } = post;
  const { signs, ...answer } = await postOnce(post);
  if (!isChallenge({ ...answer, ...signs })) return answer;
  throw new TransientError(
    `${name} cannot be reached: a proxy or firewall answered ${answer.status} in its place, with a challenge or block page. Have the ` +
      'address of this machine admitted',
    { reason: 'status', status: answer.status, retryAfterMs: answer.retryAfterMs, evidence: 'challenge' },
  );
}

interface SignedAnswer extends JsonAnswer {
  readonly signs: Pick<ResponseSigns, 'headers' | 'reason'>;
}

/** Posts, and returns the answer of whoever has answered. */
async function postOnce(post: JsonPost): Promise<SignedAnswer> {
  const { url, headers, body, timeoutMs, signal, name } = post;
  const timeout = AbortSignal.timeout(timeoutMs);
  const dispatcher = proxyDispatcher(url);
  try {
    const response = await request(url, {
      ...(dispatcher === null ? {} : { dispatcher }),
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    const text = await textOf(response.body).catch(() => '');
    const clock = { serviceDateMs: null, nowMs: Date.now() };
    const retryAfterMs = parseRetryAfter(headerOf(response.headers, 'retry-after'), clock);
    const signs = { headers: response.headers, reason: '' };
    return { status: response.statusCode, retryAfterMs, text, signs };
  } catch (error) {
    signal?.throwIfAborted();
    const why = timeout.aborted ? `no answer within ${timeoutMs / 1000} s` : systemCode(error);
    // Only the code: messages of the HTTP library may contain the address and headers.
    const problem = `${name} cannot be reached: ${why ?? 'the connection failed'}`;
    throw new TransientError(problem, { reason: 'network' });
  }
}

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_RESPONSE_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8').slice(0, MAX_TEXT);
}
