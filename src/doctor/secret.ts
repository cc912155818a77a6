import { resolveSecret } from '../api/index.js';
import { ConfigurationError } from '../core/configuration-error.js';
import type { ConnectionSettings, SecretRef } from '../core/settings.js';
import { type Finding, ok, problem, warning } from './finding.js';

/** Whether the API key can be read from here, and by whom else. Never shows it. */
export async function checkSecret({ name, apiKey }: ConnectionSettings): Promise<Finding> {
  try {
    const { worldReadable } = await resolveSecret(apiKey, { path: `connections.${name}.apiKey` });
    if (worldReadable) return warning('key', ...worldReadableWarning(apiKey));
    return ok('key', `found in ${placeOf(apiKey)}`);
  } catch (error) {
    const remedy = error instanceof ConfigurationError ? error.remedy : null;
    return problem(
      'key',
      'configuration',
      error instanceof Error ? error.message : String(error),
      `${remedy ?? 'Put the key in place again.'} The doctor reads it from the same place as the worker: run it where the worker runs.`,
    );
  }
}

/** What to say of a file that holds a secret and that everybody may read: the message and the remedy. */
export function worldReadableWarning(ref: SecretRef): [message: string, remedy: string] {
  const place = placeOf(ref);
  return [
    `every user of this machine can read the API key in ${place}`,
    `Run \`chmod o-rwx ${'file' in ref ? ref.file : ''}\`, and consider whether the key has to be replaced.`,
  ];
}

function placeOf(ref: SecretRef): string {
  return 'env' in ref ? `the environment variable ${ref.env}` : `the file ${ref.file}`;
}
