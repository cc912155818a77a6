import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { ByteString } from '../../core/brands.js';
import { ConfigurationError } from '../../core/errors.js';
import { secretFingerprint } from '../../core/secrets.js';

/** A shorter secret could be guessed from one hash of a known value. */
const LEAST_CHARACTERS = 16;

/** The secret that cells are masked with (docs/explanation/guarantees.md#secrets). It shows in no log and no document. */
export class MaskingKey {
  readonly #key: KeyObject;
  /** As `secretFingerprint` makes it. */
  readonly fingerprint: string;

  /**
   * @param path of the setting, for messages
   * @throws ConfigurationError for a secret that is too short
   */
  constructor(secret: string, path: string) {
    if (secret.length < LEAST_CHARACTERS) {
      throw new ConfigurationError(`The masking secret is shorter than ${LEAST_CHARACTERS} characters.`, {
        path,
        remedy: 'Use a random one, such as the output of `openssl rand -hex 32`.',
      });
    }
    this.#key = createSecretKey(secret, 'utf8');
    this.fingerprint = secretFingerprint(this.#key, 'a masking secret');
  }

  /** HMAC-SHA-256 (RFC 2104) in hexadecimal: the same value gives the same cell, so that joins still work. */
  hash(cell: ByteString): ByteString {
    return createHmac('sha256', this.#key).update(cell, 'latin1').digest('hex') as string as ByteString;
  }
}
