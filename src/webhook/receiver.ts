import type { IncomingMessage, ServerResponse } from 'node:http';
import { SecretReader } from '../api/index.js';
import { errorMessage } from '../core/errors.js';
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
  readonly #secret: SecretReader | null;
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
    const path = `connections.${name}.webhook.signature.secret`;
    this.#secret =
      webhook.signature === null
        ? null
        : new SecretReader(webhook.signature.secret, { path, now: context.now });
  }

  /**
   * Reads the secret once. A service with the handshake `secret` shows it only when the webhook is registered; for that,
   * this receiver must run. A missing file is then a warning, because it is read again for each notice.
   *
   * @throws ConfigurationError when the secret cannot be read
   */
  async checkSecret(): Promise<void> {
    try {
      await this.#readSecret();
    } catch (error) {
      const { signature, handshake } = this.webhook;
      if (!handshake.includes('secret') || signature === null || !('file' in signature.secret)) throw error;
      this.#context.warn(
        `${this.name}: ${errorMessage(error)}. Notices get the response 503 until the file contains the secret that the service shows when the webhook is registered`,
      );
    }
  }

  /** Checks the signature of a notice. @returns `null` if it is valid, otherwise the response */
  async authenticate(request: IncomingMessage, body: Buffer): Promise<Answer | null> {
    const { signature } = this.webhook;
    if (signature === null) return null;
    let secret: string;
    try {
      secret = await this.#readSecret();
    } catch (error) {
      // The notice may be valid, so the sender should retry.
      this.#context.warn(`${this.name}: ${errorMessage(error)}`);
      return unavailable('the receiver cannot check signatures now');
    }
    const header = (name: string) => {
      const found = request.headers[name.toLowerCase()];
      return typeof found === 'string' ? found : null;
    };
    const failure = signatureFailure(signature, secret, { header, body, now: this.#context.now() });
    if (failure === null) return null;
    const what = `${FAILURE_TEXTS[failure]} ${signature.header}`;
    this.#context.warn(`${this.name}: a notice ${what}; answered 401`);
    return refusal(401, 'the notice is not signed as configured');
  }

  async #readSecret(): Promise<string> {
    if (this.#secret === null) return '';
    const { value, worldReadable } = await this.#secret.read();
    if (worldReadable) {
      this.#context.warn(
        `${this.name}: the file with the webhook secret can be read by every user of this machine; run chmod o-r on it`,
      );
    }
    return value;
  }
}

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
