import type { IncomingMessage, ServerResponse } from 'node:http';
import { SecretReader } from '../api/index.js';
import { errorMessage } from '../core/errors.js';
import { MIN_WEBHOOK_SECRET_CHARS } from '../core/secrets.js';
import type { WebhookSettings } from '../core/settings.js';
import type { NoticeRules } from './notice.js';
import { type SignatureFailure, signatureFailure } from './signature.js';

const FAILURE_TEXTS: Readonly<Record<SignatureFailure, string>> = {
  'no-signature': 'has no header',
  'wrong-signature': 'has a wrong signature in the header',
  'no-timestamp': 'has no timestamp to go with the header',
  'stale-timestamp': 'has an invalid timestamp, or one out of tolerance, to go with the header',
};

interface ReceiverContext {
  readonly warn: (message: string) => void;
  readonly now: () => number;
}

/** The webhook settings and the secret of one connection. */
export class Receiver {
  readonly name: string;
  readonly webhook: WebhookSettings;
  readonly rules: NoticeRules;
  readonly #secrets: readonly SecretReader[];
  readonly #context: ReceiverContext;

  /** @param resources names of all resources of the connection */
  constructor(
    name: string,
    webhook: WebhookSettings,
    resources: readonly string[],
    context: ReceiverContext,
  ) {
    this.name = name;
    this.webhook = webhook;
    this.rules = { ...webhook, resources };
    this.#context = context;
    const path = `connections.${name}.webhook.signature`;
    this.#secrets = (webhook.signature?.secrets ?? []).map(
      (ref) => new SecretReader(ref, { path, now: context.now }),
    );
  }

  /**
   * Reads the secrets once. A service with the handshake `secret` shows it only when the webhook is registered; for that,
   * this receiver must run. A missing file is then a warning, because it is read again for each notice.
   *
   * @throws ConfigurationError when the secret cannot be read
   */
  async checkSecret(): Promise<void> {
    try {
      for (const secret of await this.#readSecrets()) this.#warnOfShort(secret);
    } catch (error) {
      const { signature, handshake } = this.webhook;
      if (!handshake.includes('secret') || signature?.secrets.every((ref) => 'file' in ref) !== true)
        throw error;
      this.#context.warn(
        `${this.name}: ${errorMessage(error)}. Notices get the response 503 until the file contains the secret that the service shows when the webhook is registered`,
      );
    }
  }

  /**
   * Checks the signature of a notice over its raw bytes.
   *
   * @returns `null` if it is valid, otherwise the response
   */
  async authenticate(request: IncomingMessage, body: Buffer): Promise<Answer | null> {
    const { signature, publicUrl } = this.webhook;
    if (signature === null) return null;
    let secrets: readonly string[];
    try {
      secrets = await this.#readSecrets();
    } catch (error) {
      // The notice may be valid, so the sender should retry.
      this.#context.warn(`${this.name}: ${errorMessage(error)}`);
      return unavailable('the receiver cannot check signatures now');
    }
    const header = (name: string) => {
      const found = request.headers[name.toLowerCase()];
      return typeof found === 'string' ? found : null;
    };
    const { method, url = '' } = request;
    const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
    const called = publicUrl === null ? null : publicUrl + query;
    const now = this.#context.now();
    const failure = signatureFailure(signature, secrets, { header, method, url: called, body, now });
    if (failure === null) return null;
    const what = `${FAILURE_TEXTS[failure]} ${signature.header}`;
    this.#context.warn(`${this.name}: a notice ${what}; answered 401`);
    return refusal(401, 'the notice is not signed as configured');
  }

  /** The first secret, which signs answers. @throws ConfigurationError if it cannot be read */
  async signingSecret(): Promise<string | null> {
    return (await this.#readSecrets())[0] ?? null;
  }

  async #readSecrets(): Promise<readonly string[]> {
    const read = await Promise.all(this.#secrets.map((secret) => secret.read()));
    if (read.some(({ worldReadable }) => worldReadable)) {
      this.#context.warn(
        `${this.name}: the file with the webhook secret can be read by every user of this machine; run chmod o-r on it`,
      );
    }
    return read.map(({ value }) => value);
  }

  #warnOfShort(secret: string): void {
    if (secret.length >= MIN_WEBHOOK_SECRET_CHARS) return;
    this.#context.warn(
      `${this.name}: the webhook secret has fewer than ${MIN_WEBHOOK_SECRET_CHARS} characters, so it can be guessed; use a longer one`,
    );
  }
}

/** The receiver's response to a request. Senders act on the status; the body is for people. */
export interface Answer {
  readonly status: 200 | 201 | 202 | 204 | 401 | 404 | 405 | 413 | 503;
  /** An object is sent as JSON, a text as it is; `null`: no body. */
  readonly body: Readonly<Record<string, unknown>> | string | null;
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
  const { body } = answer;
  const text = body === null ? '' : typeof body === 'string' ? body : `${JSON.stringify(body)}\n`;
  const type = typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/json';
  response.writeHead(answer.status, {
    ...(body === null ? {} : { 'Content-Type': type }),
    // A 204 has no length (RFC 9110 8.6).
    ...(answer.status === 204 ? {} : { 'Content-Length': Buffer.byteLength(text) }),
    'Cache-Control': 'no-store',
    ...(answer.close === true ? { Connection: 'close' } : {}),
    ...answer.headers,
  });
  response.end(text);
}
