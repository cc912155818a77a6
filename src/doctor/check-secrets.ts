import { ConfigurationError, errorMessage } from '../core/errors.js';
import { MIN_WEBHOOK_SECRET_CHARS, resolveSecret } from '../core/secrets.js';
import type { ConnectionSettings, SecretRef } from '../core/settings.js';
import { about, type Finding, ok, problem, warning } from './finding.js';

/** Checks that this process can read the API key, and that other users of the machine cannot. Never shows the key. */
export async function checkSecret({ name, apiKey }: ConnectionSettings): Promise<Finding> {
  try {
    const { value, worldReadable } = await resolveSecret(apiKey, { path: `connections.${name}.apiKey` });
    const odd = oddForm(value);
    const remedy = 'If the service rejects it, provide only the key itself, as the application showed it.';
    if (odd.length > 0)
      return warning('key', `found in ${placeOf(apiKey)}, but the key ${odd.join('; it ')}`, remedy);
    if (worldReadable) return warning('key', ...worldReadableWarning({ what: API_KEY, ref: apiKey }));
    return ok('key', `found in ${placeOf(apiKey)}`);
  } catch (error) {
    const own = error instanceof ConfigurationError ? error.remedy : null;
    // Also of a key that cannot be sent, for example because a label before it brings a space.
    const secret = await resolveSecret(apiKey, { form: 'header' }).catch(() => null);
    const odd = secret === null ? [] : oddForm(secret.value);
    const message = errorMessage(error) + (odd.length === 0 ? '' : ` The key ${odd.join('; it ')}.`);
    const remedy = `${own ?? 'Provide the key again.'} The doctor reads the key from the same place as the worker, so run it where the worker runs.`;
    return problem('key', 'configuration', message, remedy);
  }
}

/** A secret of a connection and its name in messages. */
interface NamedSecret {
  readonly what: string;
  readonly ref: SecretRef;
}

const API_KEY = 'the API key';

/** The secrets of a connection other than its API key. */
function otherSecrets({ masking, webhook, notify, http }: ConnectionSettings): NamedSecret[] {
  const secrets: NamedSecret[] = Object.entries(http.headers).flatMap(([name, ref]) =>
    typeof ref === 'string' ? [] : [{ what: `the header ${name} of requests`, ref }],
  );
  if (masking !== null) secrets.push({ what: 'the masking secret', ref: masking.secret });
  for (const ref of webhook?.signature?.secrets ?? []) secrets.push({ what: 'the webhook secret', ref });
  for (const { url, key, headers } of notify) {
    if (typeof url !== 'string') secrets.push({ what: 'the URL for alerts', ref: url });
    if (key !== null) secrets.push({ what: 'the key for alerts', ref: key });
    for (const [name, ref] of Object.entries(headers))
      secrets.push({ what: `the header ${name} of alerts`, ref });
  }
  return secrets;
}

/**
 * Warns of world-readable files of secrets other than the API key, and of webhook secrets that can be guessed. Ignores a secret
 * that does not exist here.
 */
export async function checkOtherSecrets(connection: ConnectionSettings): Promise<Finding[]> {
  const warnings = await warningsOf(otherSecrets(connection));
  for (const ref of connection.webhook?.signature?.secrets ?? []) {
    const found = await resolveSecret(ref).catch(() => null);
    if (found !== null && found.value.length < MIN_WEBHOOK_SECRET_CHARS)
      warnings.push([
        `the webhook secret in ${placeOf(ref)} has fewer than ${MIN_WEBHOOK_SECRET_CHARS} characters, so it can be guessed`,
        'Use a longer one, in the service too.',
      ]);
  }
  return warnings.map((texts) => about('other secrets', warning('key', ...texts)));
}

/** Warnings for files with secrets that every user of this machine can read. Ignores a file that does not exist here. */
export async function worldReadableWarnings(connections: readonly ConnectionSettings[]): Promise<string[]> {
  const warnings: string[] = [];
  for (const connection of connections) {
    const secrets = [{ what: API_KEY, ref: connection.apiKey }, ...otherSecrets(connection)];
    for (const [message, remedy] of await warningsOf(secrets))
      warnings.push(`warning: ${connection.name}: ${message}. ${remedy}`);
  }
  return warnings;
}

async function warningsOf(secrets: readonly NamedSecret[]): Promise<[string, string][]> {
  const warnings: [string, string][] = [];
  for (const secret of secrets) {
    // The most permissive form: whether the secret is valid does not matter here.
    const found = await resolveSecret(secret.ref, { form: 'header' }).catch(() => null);
    if (found?.worldReadable === true) warnings.push(worldReadableWarning(secret));
  }
  return warnings;
}

function worldReadableWarning({ what, ref }: NamedSecret): [message: string, remedy: string] {
  return [
    `every user of this machine can read ${what} in ${placeOf(ref)}`,
    `Run \`chmod o-rwx ${'file' in ref ? ref.file : ''}\`, and consider replacing the secret.`,
  ];
}

function placeOf(ref: SecretRef): string {
  return 'env' in ref ? `the environment variable ${ref.env}` : `the file ${ref.file}`;
}

/** What a copied key has that does not belong to it, and the pattern that shows it. */
const SIGNS: readonly (readonly [what: string, pattern: RegExp])[] = [
  ['is in quotation marks', /^(["'`\u201c\u201d\u2018\u2019]).*\1$/],
  ['begins or ends with a quotation mark', /^["'`]|["'`]$/],
  ['is in angle brackets, as in an example', /^<.*>$/],
  ['begins or ends with an angle bracket', /^<|>$/],
  ['is in braces or brackets', /^[[{(].*[\]})]$/],
  [
    'is the name of a variable that nothing has replaced',
    /^(?:\$\{.*\}|\$\(.*\)|\$[A-Za-z_]\w*|%\w+%|\{\{.*\}\})$/,
  ],
  ['begins with a name and "="', /^(?:export\s+)?[A-Za-z_][A-Za-z0-9_.-]*=(?=.{8})/],
  ['begins with a label', /^(?:bearer|token|basic|authorization|api[-_]?key|key|secret)[:\s]/i],
  ['ends with ";" or ","', /[;,]$/],
  ['ends with "\\"', /\\$/],
  ['ends with "\\n", "\\r" or "%0A"', /(?:\\[nr]|%0[ad])$/i],
  [
    'is a placeholder',
    /^(?:x{4,}|\*{3,}|\.{3,}|change[-_ ]?me|your[-_ ].*|placeholder|todo|redacted|null|undefined|none)$/i,
  ],
];

/**
 * What looks wrong about the form of a secret, such as quotation marks from an env file. Services choose the form of their
 * keys, so this is only a hint. The texts never contain the secret.
 */
export function oddForm(secret: string): string[] {
  const found = SIGNS.filter(([, pattern]) => pattern.test(secret)).map(([what]) => what);
  // The first sign of a pair says more than the second.
  const isCovered = (what: string): boolean =>
    (what === SIGNS[1]![0] && found.includes(SIGNS[0]![0])) ||
    (what === SIGNS[3]![0] && found.includes(SIGNS[2]![0])) ||
    (what === SIGNS[4]![0] && found.includes(SIGNS[5]![0]));
  return found.filter((what) => !isCovered(what));
}
