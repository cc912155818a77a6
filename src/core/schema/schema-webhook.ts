import { z } from 'zod';
import { byteSize, choice, parsedString, section, withoutPrototype } from './building-blocks.js';
import { readBaseUrl, readJsonPointer, readName } from './readers.js';
import { signature } from './schema-signature.js';
import { invalidValue } from './values.js';

const LISTEN = 'an address and port such as 127.0.0.1:8080 or "[::1]:8080"';

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

const HANDSHAKES = ['secret', 'challenge', 'token', 'probe', 'validation-code', 'zoom'] as const;

/**
 * How a service checks the URL before it registers a webhook: by a header that is sent back (`secret`), by a value in a
 * JSON body (`challenge`, `validation-code`) or in the query of a GET (`challenge`), by a text in the body that is signed in the
 * answer (`zoom`), by a query parameter (`token`), or by any GET (`probe`).
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

const STATUSES = ['200', '201', '202', '204'] as const;

const answer = section({
  status: z
    .union([z.literal(200), z.literal(201), z.literal(202), z.literal(204)], {
      error: ({ input }) => invalidValue(input, STATUSES.join(', ')),
    })
    .prefault(202)
    .describe(
      'Status: 200, 201, 202 or 204. Some senders repeat a notice, and then disable the webhook, unless it is 200.',
    ),
  body: choice(['json', 'empty'])
    .prefault('json')
    .describe('Body: the names of the resources as JSON, or nothing. A 204 has none.'),
});

/** `webhook` of a connection (docs/reference/configuration.md). */
export const webhook = section({
  listen: listen
    .prefault('127.0.0.1:8080')
    .describe('Listen address. Connections with the same address share one server.'),
  signature: z
    .union([unsigned, signature], {
      // Does not repeat the value: the most likely mistake is to write the secret itself here.
      error:
        'invalid value (not repeated here); allowed: a map with a preset or with header, algorithm, encoding, prefix, format, signs, secret and timestamp, or the word none',
    })
    .prefault({})
    .describe('How notices are signed. `none` accepts unsigned notices, on a loopback address only.'),
  handshake: handshake
    .prefault('none')
    .describe(
      'How the service checks the URL when you register it: `secret` returns the header `X-Hook-Secret`, `challenge` a JSON `challenge`, `validation-code` a JSON `validation_code`, `token` the query parameter `validationToken`; `zoom` signs a `plainToken`; `probe` answers a GET.',
    ),
  publicUrl: parsedString('a URL such as https://hooks.example.com/hooks/acme', readBaseUrl)
    .optional()
    .describe('The URL of this webhook as it is registered in the service, for senders that sign it.'),
  answer: answer
    .prefault({})
    .describe('The answer to a notice. It is sent once Temporal has stored the notice.'),
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
}).transform(({ maxBody, kinds, publicUrl = null, ...rest }) => ({
  ...rest,
  kinds: withoutPrototype(kinds),
  publicUrl,
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
