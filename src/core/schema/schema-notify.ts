import { createHash } from 'node:crypto';
import { z } from 'zod';
import { ALERT_EVENTS, ALERT_FORMATS, DEFAULT_ALERT_EVENTS, PAGERDUTY_URL } from '../alerts/index.js';
import { MINUTE_MS } from '../duration.js';
import { notifyUrlProblem } from '../notify-url.js';
import { choice, duration, issueAt, parsedValue, section, withoutPrototype } from './building-blocks.js';
import { isHeaderName } from './schema-headers.js';
import { readSecretRef, SECRET_ALLOWED, SECRET_FORMS, type SecretRef, secretRef } from './secret-ref.js';
import { invalidValue } from './values.js';

const ALLOWED =
  'an https URL (http on this machine), or { env: NAME_OF_A_VARIABLE } or { file: /absolute/path } if the URL itself is a secret';

/** The URL of some webhooks is itself a secret, so it may be a reference and is never repeated in messages. */
const url = parsedValue(
  (value): string | SecretRef => {
    if (typeof value === 'object' && value !== null) return readSecretRef(value);
    if (typeof value !== 'string')
      throw new RangeError(
        value === undefined ? invalidValue(value, ALLOWED) : `is not a URL; allowed: ${ALLOWED}`,
      );
    const problem = notifyUrlProblem(value);
    if (problem === null) return value;
    throw new RangeError(`the URL (not repeated here) ${problem}; allowed: ${ALLOWED}`);
  },
  { title: 'URL or secret', oneOf: [{ type: 'string', pattern: '^https?://' }, ...SECRET_FORMS] },
);

/** Headers that this package or the HTTP client sets. */
const RESERVED = ['host', 'content-type', 'content-length', 'transfer-encoding', 'connection', 'user-agent'];

const headers = z
  .record(z.string(), secretRef(), {
    error: ({ input }) => invalidValue(input, 'a map from header names to { env: … } or { file: … }'),
  })
  .superRefine((found, context) => {
    for (const name of Object.keys(found)) {
      if (isHeaderName(name) && !RESERVED.includes(name.toLowerCase())) continue;
      const message = `${invalidValue(name, 'HTTP header names')} such as Authorization, except ${RESERVED.join(', ')}`;
      context.addIssue(issueAt(message, name));
    }
  });

/** Each published run is announced once, apart from the alerts, which are about problems. */
const PUBLISHED = 'published';
const event = choice([...ALERT_EVENTS, PUBLISHED] as const);
const EVENTS = [...ALERT_EVENTS, PUBLISHED].join(', ');

const keys = section({
  format: choice(ALERT_FORMATS)
    .prefault('json')
    .describe(
      'Format of the messages. `slack` is also for Mattermost and for the `/slack` address of a Discord webhook.',
    ),
  url: url
    .optional()
    .describe(
      'URL that receives a POST for each message; a secret if it must not be seen. Plain http is allowed only to this machine. Default with `pagerduty`: the Events API v2; otherwise required.',
    ),
  key: secretRef().optional().describe('Integration key, for `format: pagerduty` only.'),
  headers: headers
    .prefault({})
    .describe('Headers of the POST. Each secret is the complete value, with a prefix such as `Bearer `.'),
  on: z
    .array(event, { error: ({ input }) => invalidValue(input, `a list of ${EVENTS}`) })
    .min(1, {
      error: `found an empty list; allowed: ${EVENTS}. To turn alerts off, remove \`notify\``,
    })
    .meta({ title: 'list of events' })
    .prefault([...DEFAULT_ALERT_EVENTS])
    .describe('[Events](../how-to/alerts.md#events) that are sent.'),
  secret: secretRef()
    .optional()
    .describe(
      'Signs messages about `published` runs as Standard Webhooks: `whsec_` and Base64, at least 24 bytes.',
    ),
  maxAge: duration({ unit: 'h', min: MINUTE_MS })
    .optional()
    .describe(
      'For `stale`: largest age of a checkpoint. Default: the longest time between two runs of the Schedule, plus `retries.giveUpAfter`; none while the Schedule is paused or missing.',
    ),
}).superRefine(({ format, url: address, key, on, secret, maxAge }, context) => {
  const add = (path: string, message: string): void => context.addIssue(issueAt(message, path));
  if (format === 'pagerduty' && key === undefined) add('key', `is missing; allowed: ${SECRET_ALLOWED}`);
  if (format !== 'pagerduty' && key !== undefined)
    add('key', 'found a key, which only `format: pagerduty` has; allowed: `headers` for other secrets');
  if (on.includes(PUBLISHED) && format !== 'json')
    add('on', `found ${PUBLISHED}, which only \`format: json\` has; allowed: ${ALERT_EVENTS.join(', ')}`);
  if (secret !== undefined && !on.includes(PUBLISHED))
    add('secret', `found a secret, but \`on\` has no ${PUBLISHED}; add ${PUBLISHED}, or remove secret`);
  if (maxAge !== undefined && !on.includes('stale'))
    add('maxAge', 'found a maxAge, but `on` has no stale; add stale, or remove maxAge');
  if (format !== 'pagerduty' && address === undefined) add('url', invalidValue(undefined, ALLOWED));
});

/** Two connections with the same target have the same id. A URL with a secret in it cannot be guessed from the hash. */
function toTarget({ format, url: address, key, headers: found, on, secret, maxAge }: z.output<typeof keys>) {
  const where = {
    format,
    url: address ?? PAGERDUTY_URL,
    key: key ?? null,
    headers: withoutPrototype(found),
  };
  const id = createHash('sha256').update(JSON.stringify(where)).digest('hex').slice(0, 12);
  const alerts = [...new Set(on)].filter((one) => one !== PUBLISHED);
  // Not a part of the id: a target is the same with another secret.
  const published = on.includes(PUBLISHED) ? { secret: secret ?? null } : null;
  return { id, ...where, on: alerts, published, maxAgeMs: maxAge ?? null };
}

const target = keys.transform(toTarget);

export const notify = z.union(
  [
    target.transform((only) => [only]),
    z.array(target).min(1, {
      error: 'found an empty list; allowed: at least one target. To turn alerts off, remove `notify`',
    }),
  ],
  { error: ({ input }) => invalidValue(input, `a map with the keys ${Object.keys(keys.shape).join(', ')}`) },
);
