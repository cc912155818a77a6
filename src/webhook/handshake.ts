import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { get } from '../core/schema/values.js';
import type { HandshakeKind } from '../core/settings.js';
import { parseJson } from './notice.js';
import type { Answer } from './receiver.js';

/** Longest value that is sent back, in characters. Real ones have less than 1,000. */
const MAX_ECHO = 4_096;

/** Names of the query parameter with a token. Microsoft Graph and SharePoint write them differently. */
const TOKEN_PARAMETER = 'validationtoken';
/** Names of the query parameter with a challenge, of a GET (WebSub and the services that follow it, Dropbox). */
const CHALLENGE_PARAMETERS: readonly string[] = ['challenge', 'hub.challenge'];
const SECRET_HEADER = 'x-hook-secret';

/** A request of a service that checks the URL before it registers a webhook. */
export interface Handshake {
  readonly kind: HandshakeKind;
  readonly answer: Answer;
}

/**
 * The handshake of a request, if it is of a configured kind. Handshakes are not signed: a service that registers a webhook
 * may not have the secret yet. The response proves only that this receiver owns the URL, so it may be sent to anyone.
 *
 * @param body of a POST; empty for other methods
 * @param secret signs the answer of the kind `zoom`
 * @returns `null` if the request is not a handshake
 */
export function handshakeOf(
  request: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  body: Buffer,
  kinds: readonly HandshakeKind[],
  secret: string | null = null,
): Handshake | null {
  for (const kind of kinds) {
    const answer = ANSWERS[kind](request, body, secret);
    if (answer !== null) return { kind, answer };
  }
  return null;
}

/** The methods other than POST that a receiver with these handshakes answers. */
export function handshakeMethods(kinds: readonly HandshakeKind[]): readonly string[] {
  if (kinds.includes('probe')) return ['GET', 'HEAD'];
  return kinds.includes('token') || kinds.includes('challenge') ? ['GET'] : [];
}

type Answering = (
  request: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  body: Buffer,
  secret: string | null,
) => Answer | null;

const ANSWERS: Readonly<Record<HandshakeKind, Answering>> = {
  secret({ method, headers }) {
    const secret = headers[SECRET_HEADER];
    if (method !== 'POST' || !isEcho(secret)) return null;
    return { status: 200, body: {}, headers: { 'X-Hook-Secret': secret } };
  },
  challenge({ method, url }, body) {
    if (method === 'GET') {
      const value = parameter(url, (name) => CHALLENGE_PARAMETERS.includes(name));
      return value === null ? null : plainText(value);
    }
    const challenge = challengeIn(body);
    return method !== 'POST' || challenge === null ? null : { status: 200, body: { challenge } };
  },
  'validation-code'({ method }, body) {
    const code = get(parseJson(body), 'validation_code');
    return method === 'POST' && isEcho(code) ? { status: 200, body: { validation_code: code } } : null;
  },
  zoom({ method }, body, secret) {
    const notice = parseJson(body);
    const plainToken = get(notice, 'payload', 'plainToken');
    if (method !== 'POST' || secret === null || get(notice, 'event') !== 'endpoint.url_validation')
      return null;
    // Anyone may have the token signed, so it must not be the text of a notice.
    if (!isEcho(plainToken) || !/^[\w+/=-]{1,200}$/.test(plainToken)) return null;
    const encryptedToken = createHmac('sha256', secret).update(plainToken).digest('hex');
    return { status: 200, body: { plainToken, encryptedToken } };
  },
  token({ method, url }) {
    if (method !== 'POST' && method !== 'GET') return null;
    const value = parameter(url, (name) => name.toLowerCase() === TOKEN_PARAMETER);
    return value === null ? null : plainText(value);
  },
  probe: ({ method }) =>
    method === 'GET' || method === 'HEAD' ? { status: 200, body: { ready: true } } : null,
};

/** The `challenge` of a JSON object: a text or a number. */
function challengeIn(body: Buffer): string | number | null {
  const parsed = parseJson(body);
  const challenge = get(parsed, 'challenge') ?? null;
  return isEcho(challenge) || Number.isSafeInteger(challenge) ? (challenge as string | number) : null;
}

function parameter(url: string | undefined, isWanted: (name: string) => boolean): string | null {
  const query = (url ?? '').split('?').slice(1).join('?');
  const found = [...new URLSearchParams(query)].find(([name]) => isWanted(name))?.[1];
  return isEcho(found) ? found : null;
}

function isEcho(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ECHO;
}

/** No browser may take the text, which anyone can choose, for a page. */
function plainText(text: string): Answer {
  return { status: 200, body: text, headers: { 'X-Content-Type-Options': 'nosniff' } };
}
