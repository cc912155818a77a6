import { resolveSecret } from '../api/index.js';
import { ConfigurationError } from '../core/configuration-error.js';
import type { ConnectionSettings, SecretRef } from '../core/settings.js';
import { type Finding, ok, problem, warning } from './finding.js';

/** Whether the API key can be read from here, and by whom else. Never shows it. */
export async function checkSecret({ name, apiKey }: ConnectionSettings): Promise<Finding> {
  try {
    const { worldReadable } = await resolveSecret(apiKey, { path: `connections.${name}.apiKey` });
    if (worldReadable) return warning('key', ...worldReadableWarning({ what: API_KEY, ref: apiKey }));
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

/** A secret of a connection by the name that sentences give it. */
interface NamedSecret {
  readonly what: string;
  readonly ref: SecretRef;
}

const API_KEY = 'the API key';

/** The secrets of a connection beside its API key. */
function otherSecrets({ webhook, notify }: ConnectionSettings): NamedSecret[] {
  const secrets: NamedSecret[] = [];
  const signature = webhook?.signature ?? null;
  if (signature !== null) secrets.push({ what: 'the webhook secret', ref: signature.secret });
  if (notify === null) return secrets;
  if (typeof notify.url !== 'string') secrets.push({ what: 'the URL for notifications', ref: notify.url });
  for (const [name, ref] of Object.entries(notify.headers))
    secrets.push({ what: `the header ${name} of notifications`, ref });
  return secrets;
}

/** As findings: the files of other secrets than the API key that everybody may read. A file that is not here is no matter here. */
export async function checkOtherSecrets(connection: ConnectionSettings): Promise<Finding[]> {
  const warnings = await warningsOf(otherSecrets(connection));
  return warnings.map((said) => warning('key', ...said));
}

/**
 * What to say of the files with secrets of a connection that everybody on this machine may read: messages and remedies.
 * A file that is not here is no matter here.
 */
export function worldReadableWarnings(
  connection: ConnectionSettings,
): Promise<[message: string, remedy: string][]> {
  return warningsOf([{ what: API_KEY, ref: connection.apiKey }, ...otherSecrets(connection)]);
}

async function warningsOf(secrets: readonly NamedSecret[]): Promise<[string, string][]> {
  const warnings: [string, string][] = [];
  for (const secret of secrets) {
    // In the form that allows most: whether it is a good secret is not the question here.
    const found = await resolveSecret(secret.ref, { form: 'header' }).catch(() => null);
    if (found?.worldReadable === true) warnings.push(worldReadableWarning(secret));
  }
  return warnings;
}

function worldReadableWarning({ what, ref }: NamedSecret): [message: string, remedy: string] {
  return [
    `every user of this machine can read ${what} in ${placeOf(ref)}`,
    `Run \`chmod o-rwx ${'file' in ref ? ref.file : ''}\`, and consider whether it has to be replaced.`,
  ];
}

function placeOf(ref: SecretRef): string {
  return 'env' in ref ? `the environment variable ${ref.env}` : `the file ${ref.file}`;
}
