import { request } from 'undici';
import { TransientError } from './errors/transient-error.js';

interface JsonPost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
  /** Limit for the whole exchange, in ms. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** The receiver's name for messages, which never contain the URL. */
  readonly name: string;
}

/** The response body is discarded. Up to this size it is read, so that the connection can be reused. */
const MAX_RESPONSE_BYTES = 64 * 1024;

/**
 * Posts a JSON object once, without retries and redirects.
 *
 * @returns the status
 * @throws TransientError without a response, and the signal's reason when aborted
 */
export async function postJson({ url, headers, body, timeoutMs, signal, name }: JsonPost): Promise<number> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await request(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    await response.body.dump({ limit: MAX_RESPONSE_BYTES }).catch(() => {});
    return response.statusCode;
  } catch (error) {
    signal?.throwIfAborted();
    const code = timeout.aborted ? `no answer within ${timeoutMs / 1000} s` : codeOf(error);
    // Only the code: messages of the HTTP library may contain the address and headers.
    throw new TransientError(`${name} cannot be reached: ${code}`, { reason: 'network' });
  }
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' ? code : 'the connection failed';
}
