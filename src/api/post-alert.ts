import { renderAlert } from '../core/alerts/index.js';
import type { AlertGroups, AlertMessage } from '../core/contract/alerts.js';
import { ConfigurationError } from '../core/errors.js';
import { knownSecrets } from '../core/known-secrets.js';
import { notifyUrlProblem } from '../core/notify-url.js';
import { resolveSecret } from '../core/secrets.js';
import type { ConnectionSettings, NotifyTarget } from '../core/settings.js';
import { type JsonAnswer, postJson } from './post-json.js';
import { createRedactor, quoteText, type Redactor } from './redact.js';

const TIMEOUT_MS = 15_000;
const MAX_TEXT_CHARS = 600;
const MAX_ANSWER_CHARS = 200;

interface Posting {
  readonly connection: ConnectionSettings;
  readonly target: NotifyTarget;
  readonly message: AlertMessage;
  /** All connections in the message; their API keys are redacted. */
  readonly named: readonly ConnectionSettings[];
  readonly signal?: AbortSignal | undefined;
}

/** The path of a target in the configuration, for messages. */
export function targetPath({ name, notify }: ConnectionSettings, target: NotifyTarget): string {
  const path = `connections.${name}.notify`;
  return notify.length === 1 ? path : `${path}[${notify.findIndex(({ id }) => id === target.id)}]`;
}

/**
 * Posts a message once in the format of its target, without retries. An error message can contain any text, so known secrets are
 * redacted before it is sent, and in the answer.
 *
 * @throws ConfigurationError for a URL, key or header that cannot be read or used; TransientError without an answer
 */
export async function postAlert(posting: Posting): Promise<JsonAnswer> {
  const { connection, target, message, named, signal } = posting;
  const path = targetPath(connection, target);
  const url =
    typeof target.url === 'string'
      ? target.url
      : (await resolveSecret(target.url, { path: `${path}.url` })).value;
  const problem = notifyUrlProblem(url);
  if (problem !== null) {
    const remedy = 'Correct the variable or file with the URL.';
    throw new ConfigurationError(`${path}.url ${problem}`, { path: `${path}.url`, remedy });
  }
  const key = target.key === null ? null : (await resolveSecret(target.key, { path: `${path}.key` })).value;
  const headers = await readHeaders(target, path);
  const own = [...secretParts(url), ...(key === null ? [] : [key]), ...Object.values(headers)];
  const redact = createRedactor([...own, ...(await apiKeysOf([connection, ...named])), ...knownSecrets()]);
  const answer = await postJson({
    url,
    headers,
    body: renderAlert(target.format, clean(message, redact), key),
    timeoutMs: TIMEOUT_MS,
    signal,
    name: `${path}.url`,
  });
  return { ...answer, text: quoteText(answer.text, redact, MAX_ANSWER_CHARS) };
}

async function readHeaders({ headers }: NotifyTarget, path: string): Promise<Record<string, string>> {
  const read = Object.entries(headers).map(async ([name, ref]) => {
    const { value } = await resolveSecret(ref, { path: `${path}.headers.${name}`, form: 'header' });
    return [name, value] as const;
  });
  return Object.fromEntries(await Promise.all(read));
}

/** Shorter parts of a URL are no secrets. */
const MIN_SECRET_CHARS = 8;

/** What an answer may repeat of a URL that is a secret: the URL, its path, and each part of the path and of the query. */
function secretParts(text: string): string[] {
  const url = new URL(text);
  const parts = [...url.pathname.split('/'), ...url.searchParams.values()];
  const path = `${url.pathname}${url.search}`;
  return [text, ...[path, url.pathname, ...parts].filter((part) => part.length >= MIN_SECRET_CHARS)];
}

/** A key itself may be unreadable, and may be the cause of the failure. */
async function apiKeysOf(connections: readonly ConnectionSettings[]): Promise<string[]> {
  const read = connections.map(({ apiKey }) => resolveSecret(apiKey).catch(() => null));
  return (await Promise.all(read)).flatMap((found) => (found === null ? [] : [found.value]));
}

function clean(message: AlertMessage, redact: Redactor): AlertMessage {
  const groups = ({ groups: of, ...counts }: AlertGroups): AlertGroups => ({
    ...counts,
    groups: of.map((group) => ({
      ...group,
      causes: group.causes.map((cause) => ({
        ...cause,
        text: quoteText(cause.text, redact, MAX_TEXT_CHARS),
      })),
    })),
  });
  return { ...message, news: groups(message.news), over: groups(message.over), still: groups(message.still) };
}
