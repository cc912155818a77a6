import { errorMessage } from '../../core/errors.js';
import { resolveSecret } from '../../core/secrets.js';
import type { ConnectionSettings } from '../../core/settings.js';

interface UnreadableKey {
  readonly connection: string;
  readonly error: string;
}

/**
 * The connections whose API key cannot be read. A worker that could not run anything must not look healthy; a worker of
 * several connections serves the others.
 *
 * @throws ConfigurationError if no key can be read
 */
export async function unreadableKeys(connections: readonly ConnectionSettings[]): Promise<UnreadableKey[]> {
  const errors = await Promise.all(
    connections.map(async ({ name, apiKey }) => {
      const path = `connections.${name}.apiKey`;
      return resolveSecret(apiKey, { path }).then(
        () => null,
        (error: unknown) => ({ connection: name, error }),
      );
    }),
  );
  const found = errors.filter((one) => one !== null);
  if (found.length > 0 && found.length === connections.length) throw found[0]!.error;
  return found.map(({ connection, error }) => ({ connection, error: errorMessage(error) }));
}
