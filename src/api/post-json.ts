import { request } from 'undici';
import { TransientError } from './errors/transient-error.js';

export interface JsonPost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
  /** Of the whole exchange, ms. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** What is posted to, for messages: they do not repeat the URL. */
  readonly name: string;
}

/** The answer is of no interest; so much of it is read that the connection can be used again. */
const MOST_ANSWER_BYTES = 64 * 1024;

/**
 * Posts a JSON object, once; no redirect is followed.
 *
 * @returns the status
 * @throws TransientError when there was no answer, and the signal's reason when aborted
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
    await response.body.dump({ limit: MOST_ANSWER_BYTES }).catch(() => {});
    return response.statusCode;
  } catch (error) {
    signal?.throwIfAborted();
    const code = timeout.aborted ? `no answer within ${timeoutMs / 1000} s` : codeOf(error);
    // Only the code: messages of the HTTP library may hold address and headers.
    throw new TransientError(`${name} cannot be reached: ${code}`, { reason: 'network' });
  }
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' ? code : 'the connection failed';
}
