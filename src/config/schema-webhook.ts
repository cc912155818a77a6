import { z } from 'zod';
import type { SignatureSettings, WebhookSettings } from '../core/settings.js';
import { wrong } from './found.js';
import { readName, readPointer } from './names.js';
import { byteSize, choice, duration, hasControls, readable } from './scalars.js';
import { secretRef } from './secret-ref.js';
import { section } from './section.js';

const LISTEN = 'an address and port such as 127.0.0.1:8080 or "[::1]:8080"';

const header = (standard: string) => readable('the name of an HTTP header', readHeader).prefault(standard);

const timestamp = section({
  header: header('X-Webhook-Timestamp').describe(
    'Header with the time of sending: Unix seconds or milliseconds, or ISO 8601 in UTC.',
  ),
  tolerance: duration({ unit: 'm', min: 1000, max: 24 * 3_600_000 })
    .prefault('5m')
    .describe("How far it may be from the receiver's clock, either way."),
  signs: choice(['timestamp.body', 'body'])
    .prefault('timestamp.body')
    .describe(
      'What is signed: the header, a dot and the body; or the body alone, which leaves the time unprotected.',
    ),
}).transform(({ tolerance, ...rest }) => ({ ...rest, toleranceMs: tolerance }));

const signature = section({
  header: header('X-Webhook-Signature').describe('Header that holds the signature.'),
  algorithm: choice(['hmac-sha256', 'hmac-sha512', 'hmac-sha1', 'token'])
    .prefault('hmac-sha256')
    .describe('With `token` the header holds the secret itself.'),
  encoding: choice(['hex', 'base64']).prefault('hex').describe('Of the digest.'),
  prefix: readable('what stands before the digest, such as sha256=', readPrefix)
    .prefault('')
    .describe(
      'What stands before the digest, such as `sha256=`, or before the token, such as `Bearer ` with its space.',
    ),
  secret: secretRef()
    .prefault({ env: 'WORKTRACK_WEBHOOK_SECRET' })
    .describe('Where the secret is read from.'),
  timestamp: timestamp.optional().describe('Left out: no time is looked for.'),
}).transform(
  ({ algorithm, encoding, timestamp = null, ...rest }): SignatureSettings =>
    algorithm === 'token' ? { ...rest, algorithm } : { ...rest, algorithm, encoding, timestamp },
);

const names = 'the name of a resource, or a list of them ([] for none)';
const resourceName = readable(names, readName);

/** Kinds of events to the resources that they concern. */
const kinds = z.record(
  z.string(),
  z.union([resourceName.transform((name) => [name]), z.array(resourceName)], {
    error: ({ input }) => wrong(input, names),
  }),
  { error: ({ input }) => wrong(input, 'a map from kinds of events to resources') },
);

/** The address that the receiver listens on. */
export const listen = readable(LISTEN, readListen, (value) =>
  typeof value === 'number' ? `. Did you mean "127.0.0.1:${value}"?` : '',
);

/** The word that says that the service does not sign; whether it does is "not shown" in the spec. */
const unsigned = z.literal('none').transform(() => null);

/** `webhook` of a connection (DESIGN 4). */
export const webhook = section({
  listen: listen
    .prefault('127.0.0.1:8080')
    .describe('Address of the receiver. Connections with the same address share it.'),
  signature: z
    .union([unsigned, signature], {
      // Says nothing of the value: the likeliest mistake is to write the secret itself here.
      error:
        'found neither; allowed: a map with header, algorithm, encoding, prefix, secret and timestamp, or the word none',
    })
    .prefault({})
    .describe(
      'How notices prove where they come from. `none` takes notices from anybody, on this machine only.',
    ),
  resource: readable('a JSON pointer such as /resource', readPointer)
    .prefault('/resource')
    .describe("JSON pointer to the resource's name in a notice, or to the kind of event."),
  kinds: kinds
    .prefault({})
    .describe(
      "What the text there means, where it is no resource's name: a resource, several, or `[]` for none. A kind may end in `*`.",
    ),
  maxBody: byteSize(1024, 64 * 1024 ** 2)
    .prefault('1MiB')
    .describe('A larger notice is answered with 413.'),
}).transform(
  ({ maxBody, kinds, ...rest }): WebhookSettings => ({
    ...rest,
    // Without a prototype: a kind may be called `constructor`.
    kinds: Object.assign(Object.create(null), kinds),
    maxBodyBytes: maxBody,
  }),
);

function readHeader(text: string): string {
  if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(text)) return text;
  throw new RangeError(wrong(text, 'the name of an HTTP header such as X-Webhook-Signature'));
}

function readPrefix(text: string): string {
  if (text.length <= 64 && !hasControls(text)) return text;
  throw new RangeError(wrong(text, 'up to 64 characters such as sha256='));
}

/** An address to listen on. @throws RangeError with the message for the user */
export function readListen(text: string): { host: string; port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined || port > 65_535) throw new RangeError(wrong(text, LISTEN));
  return { host, port };
}
