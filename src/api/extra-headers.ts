import { SecretReader } from '../core/secrets.js';
import type { HttpSettings } from '../core/settings.js';

/** Reads the configured headers: a secret from its variable or file, as the API key. */
export class ExtraHeaders {
  readonly #texts: Readonly<Record<string, string>>;
  readonly #secrets: readonly (readonly [name: string, reader: SecretReader])[];

  constructor(configured: HttpSettings['headers'], now: () => number) {
    const all = Object.entries(configured).map(([name, value]) => [name.toLowerCase(), value] as const);
    this.#texts = Object.fromEntries(
      all.flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
    );
    this.#secrets = all.flatMap(([name, ref]) =>
      typeof ref === 'string'
        ? []
        : [[name, new SecretReader(ref, { path: `http.headers.${name}`, form: 'header', now })] as const],
    );
  }

  /** The headers, with lower-case names. @throws ConfigurationError if a secret cannot be read */
  async read(): Promise<Readonly<Record<string, string>>> {
    if (this.#secrets.length === 0) return this.#texts;
    const read = this.#secrets.map(async ([name, reader]) => [name, (await reader.read()).value] as const);
    return { ...this.#texts, ...Object.fromEntries(await Promise.all(read)) };
  }
}
