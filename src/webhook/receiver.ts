import type { IncomingMessage } from 'node:http';
import { SecretReader } from '../api/index.js';
import type { ConnectionSettings, SignatureSettings, WebhookSettings } from '../core/settings.js';
import { type Answer, refusal, unavailable } from './answer.js';
import type { NoticeRules } from './notice.js';
import { type Flaw, flawOf } from './signature.js';

const FLAWS: Readonly<Record<Flaw, string>> = {
  'no-signature': 'has no header',
  'wrong-signature': 'has a wrong signature in the header',
  'no-timestamp': 'has no timestamp beside the header',
  'stale-timestamp': 'has a timestamp out of tolerance, or one that cannot be read, beside the header',
};

interface Surroundings {
  readonly warn: (message: string) => void;
  readonly now: () => number;
}

/** What the receiver knows of one connection. */
export class Receiver {
  readonly name: string;
  readonly webhook: WebhookSettings;
  readonly rules: NoticeRules;
  readonly #secret: SecretReader | null;
  readonly #surroundings: Surroundings;

  /** @param connection with a `webhook` section */
  constructor(connection: ConnectionSettings, surroundings: Surroundings) {
    const { name, webhook, resources } = connection;
    if (webhook === null) throw new TypeError(`connection ${name} has no webhook section`);
    this.name = name;
    this.webhook = webhook;
    this.rules = { ...webhook, resources: resources.map((resource) => resource.name) };
    this.#surroundings = surroundings;
    const path = `connections.${name}.webhook.signature.secret`;
    this.#secret =
      webhook.signature === null
        ? null
        : new SecretReader(webhook.signature.secret, { path, now: surroundings.now });
  }

  /** @throws ConfigurationError when the secret cannot be read */
  async checkSecret(): Promise<void> {
    await this.#readSecret();
  }

  /** Whether a notice may be believed. @returns the answer to one that may not */
  async judge(request: IncomingMessage, body: Buffer): Promise<Answer | null> {
    const { signature } = this.webhook;
    if (signature === null) return null;
    let secret: string;
    try {
      secret = await this.#readSecret();
    } catch (error) {
      // The sender has done nothing wrong: it may come again.
      this.#surroundings.warn(`${this.name}: ${error instanceof Error ? error.message : String(error)}`);
      return unavailable('the receiver cannot check signatures now');
    }
    const header = (name: string) => headerOf(request, name);
    const flaw = flawOf(signature, secret, { header, body, now: this.#surroundings.now() });
    if (flaw === null) return null;
    this.#surroundings.warn(this.#told(flaw, signature));
    return refusal(401, 'the notice is not signed as configured');
  }

  #told(flaw: Flaw, { header }: SignatureSettings): string {
    return `${this.name}: a notice ${FLAWS[flaw]} ${header}; answered 401`;
  }

  async #readSecret(): Promise<string> {
    if (this.#secret === null) return '';
    const { value, worldReadable } = await this.#secret.read();
    if (worldReadable) {
      this.#surroundings.warn(
        `${this.name}: the file with the webhook secret can be read by every user of this machine; take the right away with chmod o-r`,
      );
    }
    return value;
  }
}

function headerOf({ headers }: IncomingMessage, name: string): string | null {
  const found = headers[name.toLowerCase()];
  return typeof found === 'string' ? found : null;
}
