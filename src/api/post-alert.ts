import { createHash, createHmac } from 'node:crypto';
import { renderAlert } from '../core/alerts/index.js';
import type { EpochMs } from '../core/brands.js';
import type { AlertGroups, AlertMessage } from '../core/contract/alerts.js';
import type { PublishedReport } from '../core/contract/index.js';
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
  const { connection, target, message, named } = posting;
  const path = targetPath(connection, target);
  const key = target.key === null ? null : (await resolveSecret(target.key, { path: `${path}.key` })).value;
  const others = [...(key === null ? [] : [key]), ...(await apiKeysOf([connection, ...named]))];
  return post(posting, others, async (redact) => ({
    body: renderAlert(target.format, clean(message, redact), key),
    headers: {},
  }));
}

/** A published run for a target. */
interface Announcing extends Omit<Posting, 'message' | 'named'> {
  readonly report: PublishedReport;
  readonly now: EpochMs;
}

/**
 * Posts a published run once (docs/how-to/alerts.md#published-runs), with the headers of Standard Webhooks
 * (https://www.standardwebhooks.com). All posts of a run have one id.
 *
 * @throws as `postAlert`
 */
export async function postPublished(announcing: Announcing): Promise<JsonAnswer> {
  const { connection, target, report, now } = announcing;
  const { resource, runId, rows, counts, snapshot } = report;
  const run = { name: resource, runId, rows, counts, snapshot };
  const hash = createHash('sha256').update(JSON.stringify([connection.name, resource, runId]));
  const id = `msg_${hash.digest('hex').slice(0, 32)}`;
  const body = { type: 'published', id, connection: connection.name, resources: [run] };
  const ref = target.published?.secret ?? null;
  const path = `${targetPath(connection, target)}.secret`;
  const secret = ref === null ? null : (await resolveSecret(ref, { path })).value;
  const time = String(Math.floor(now / 1000));
  const unsigned = { 'webhook-id': id, 'webhook-timestamp': time };
  const signed =
    secret === null
      ? {}
      : { 'webhook-signature': signature(signingKey(secret, path), `${id}.${time}.${JSON.stringify(body)}`) };
  const secrets = secret === null ? [] : [secret];
  return post(announcing, secrets, async () => ({ body, headers: { ...unsigned, ...signed } }));
}

function signature(key: Buffer, signed: string): string {
  return `v1,${createHmac('sha256', key).update(signed).digest('base64')}`;
}

/** Standard Webhooks shows keys in Base64, with a prefix that is not a part of them. */
const MIN_KEY_BYTES = 24;

function signingKey(secret: string, path: string): Buffer {
  const text = secret.trim().replace(/^whsec_/, '');
  const key = Buffer.from(text, 'base64');
  if (key.length >= MIN_KEY_BYTES && /^[A-Za-z0-9+/]*={0,2}$/.test(text)) return key;
  const remedy = 'Create one with: echo "whsec_$(openssl rand -base64 32)"';
  throw new ConfigurationError(`${path} is not whsec_ and at least ${MIN_KEY_BYTES} bytes in Base64`, {
    path,
    remedy,
  });
}

/** Posts what `render` makes to a target, without retries. @param secrets redacted like those of the target */
async function post(
  { connection, target, signal }: Pick<Posting, 'connection' | 'target' | 'signal'>,
  secrets: readonly string[],
  render: (redact: Redactor) => Promise<{ readonly body: object; readonly headers: Record<string, string> }>,
): Promise<JsonAnswer> {
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
  const headers = await readHeaders(target, path);
  const redact = createRedactor([
    ...secretParts(url),
    ...Object.values(headers),
    ...secrets,
    ...knownSecrets(),
  ]);
  const rendered = await render(redact);
  const answer = await postJson({
    url,
    headers: { ...headers, ...rendered.headers },
    body: rendered.body,
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
