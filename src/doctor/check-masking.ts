import { ConfigurationError, errorMessage } from '../core/errors.js';
import { resolveSecret } from '../core/secrets.js';
import type { ConnectionSettings } from '../core/settings.js';
import { MaskingKey } from '../lake/rows/masking-key.js';
import { hashesColumns } from '../lake/rows/profile.js';
import { type Finding, ok, problem, warning } from './finding.js';

/** What to say of resources that are masked without a secret: message and remedy; `null` where there is none. */
export function plainHashWarning({
  name,
  resources,
  masking,
}: ConnectionSettings): [message: string, remedy: string] | null {
  const plain = resources.filter(hashesColumns).map((resource) => resource.name);
  if (plain.length === 0 || masking !== null) return null;
  return [
    `${plain.join(', ')}: \`mask: hash\` is plain SHA-256. Names and e-mail addresses can be guessed from it`,
    `Set \`connections.${name}.masking.secret\` to { env: NAME } or { file: /absolute/path } with a random secret ` +
      '(`openssl rand -hex 32`). All hashes change: the next run of each resource reads everything and rewrites every row. ' +
      'A resource whose key is hashed needs a new lake URL.',
  ];
}

/** Whether cells are masked by hashes that cannot be guessed, and the secret for it can be read from here. */
export async function checkMasking(connection: ConnectionSettings): Promise<Finding[]> {
  const { name, resources, masking } = connection;
  const old = plainHashWarning(connection);
  if (old !== null) return [warning('masking', ...old)];
  if (masking === null || !resources.some(hashesColumns)) return [];
  const path = `connections.${name}.masking.secret`;
  try {
    const { fingerprint } = new MaskingKey((await resolveSecret(masking.secret, { path })).value, path);
    return [ok('masking', `hashes are keyed (fingerprint of the secret: ${fingerprint})`)];
  } catch (error) {
    const own = error instanceof ConfigurationError ? error.remedy : null;
    const remedy = `${own ?? 'Put the secret in place again.'} The doctor reads it from the same place as the worker: run it where the worker runs.`;
    const message = `the masking secret cannot be used: ${errorMessage(error)}`;
    return [problem('masking', 'configuration', message, remedy)];
  }
}
