import { z } from 'zod';
import { DAY_MS } from '../duration.js';
import {
  byteSize,
  choice,
  duration,
  formed,
  parsedString,
  section,
  withoutPrototype,
} from './building-blocks.js';
import { readJsonPointer, readName } from './readers.js';
import { secretRef } from './secret-ref.js';
import { invalidValue } from './values.js';

const LISTEN = 'an address and port such as 127.0.0.1:8080 or "[::1]:8080"';

const header = (standard: string) =>
  formed(
    'the name of an HTTP header such as X-Webhook-Signature',
    /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/,
    'the name of an HTTP header',
  ).prefault(standard);

const timestamp = section({
  header: header('X-Webhook-Timestamp').describe(
    'Header with the send time: Unix seconds or milliseconds, or ISO 8601.',
  ),
  tolerance: duration({ unit: 'm', min: 1000, max: DAY_MS })
    .prefault('5m')
    .describe("Largest difference from the receiver's clock."),
  signs: choice(['timestamp.body', 'body'])
    .prefault('timestamp.body')
    .describe('What is signed: the header, a dot and the body, or the body alone.'),
}).transform(({ tolerance, ...rest }) => ({ ...rest, toleranceMs: tolerance }));

const signature = section({
  header: header('X-Webhook-Signature').describe('Header with the signature.'),
  algorithm: choice(['hmac-sha256', 'hmac-sha512', 'hmac-sha1', 'token'])
    .prefault('hmac-sha256')
    .describe('Algorithm. With `token`, the header contains the secret itself.'),
  encoding: choice(['hex', 'base64']).prefault('hex').describe('Encoding of the digest.'),
  prefix: formed(
    'up to 64 characters such as sha256=',
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression excludes control characters
    /^[^\u0000-\u001f\u007f]{0,64}$/,
    'a prefix of the digest such as sha256=',
  )
    .prefault('')
    .describe('Text before the digest or token, such as `sha256=` or `Bearer ` with its space.'),
  secret: secretRef().prefault({ env: 'WORKTRACK_WEBHOOK_SECRET' }).describe('Source of the secret.'),
  timestamp: timestamp.optional().describe('Default: the time of a notice is not checked.'),
}).transform(({ algorithm, encoding, timestamp = null, ...rest }) =>
  algorithm === 'token' ? { ...rest, algorithm } : { ...rest, algorithm, encoding, timestamp },
);

const names = 'the name of a resource, or a list of them ([] for none)';
const resourceName = parsedString(names, readName);

const kinds = z.record(
  z.string(),
  z.union([resourceName.transform((name) => [name]), z.array(resourceName)], {
    error: ({ input }) => invalidValue(input, names),
  }),
  { error: ({ input }) => invalidValue(input, 'a map from event kinds to resources') },
);

/** The address that the receiver listens on. */
export const listen = parsedString(LISTEN, readListen, (value) =>
  typeof value === 'number' ? `. Did you mean "127.0.0.1:${value}"?` : '',
);

/** `none`: the service does not sign notices. The API does not show whether it does. */
const unsigned = z.literal('none').transform(() => null);

const HANDSHAKES = ['secret', 'challenge', 'token', 'probe'] as const;

/**
 * How a service checks the URL before it registers a webhook: by a header that is sent back (`secret`), by a value in a
 * JSON body or in the query of a GET (`challenge`), by a query parameter (`token`), or by any GET (`probe`).
 */
export type HandshakeKind = (typeof HANDSHAKES)[number];

/** Handshakes; a service has one, as a rule. */
const handshake = z
  .union(
    [
      z.literal('none').transform((): HandshakeKind[] => []),
      z.enum(HANDSHAKES).transform((kind): HandshakeKind[] => [kind]),
      z.array(choice(HANDSHAKES)).transform((kinds): HandshakeKind[] => [...new Set(kinds)]),
    ],
    { error: ({ input }) => invalidValue(input, `none, ${HANDSHAKES.join(', ')}, or a list of them`) },
  )
  .meta({ title: 'kind, or list of kinds' });

/** `webhook` of a connection (docs/reference/configuration.md). */
export const webhook = section({
  listen: listen
    .prefault('127.0.0.1:8080')
    .describe('Listen address. Connections with the same address share one server.'),
  signature: z
    .union([unsigned, signature], {
      // Does not repeat the value: the most likely mistake is to write the secret itself here.
      error:
        'invalid value (not repeated here); allowed: a map with header, algorithm, encoding, prefix, secret and timestamp, or the word none',
    })
    .prefault({})
    .describe('How notices are signed. `none` accepts unsigned notices, on a loopback address only.'),
  handshake: handshake
    .prefault('none')
    .describe(
      'How the service checks the URL when you register it: `secret` returns the header `X-Hook-Secret`, `challenge` a JSON `challenge`, `token` the query parameter `validationToken`; `probe` answers a GET.',
    ),
  resource: parsedString('a JSON pointer such as /resource', readJsonPointer)
    .prefault('/resource')
    .describe(
      'JSON pointer to the resource name or event kind in a notice. `*` stands for every element of a list: `/events/*/type`.',
    ),
  kinds: kinds
    .prefault({})
    .describe('Resources of each event kind; `[]` ignores the kind. A kind may end in `*`.'),
  maxBody: byteSize(1024, 64 * 1024 ** 2)
    .prefault('1MiB')
    .describe('Largest notice. A larger one is answered with 413.'),
}).transform(({ maxBody, kinds, ...rest }) => ({
  ...rest,
  kinds: withoutPrototype(kinds),
  maxBodyBytes: maxBody,
}));

/** Parses a listen address. @throws RangeError with a message for the user */
export function readListen(text: string): { host: string; port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  const host = match?.[1] ?? match?.[2];
  if (host === undefined || port > 65_535) throw new RangeError(invalidValue(text, LISTEN));
  return { host, port };
}
