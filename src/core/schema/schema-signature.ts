import { z } from 'zod';
import { DAY_MS } from '../duration.js';
import { choice, duration, formed, parsedString, section } from './building-blocks.js';
import { readJsonPointer } from './readers.js';
import { type SecretRef, secretRef } from './secret-ref.js';
import { invalidValue } from './values.js';

/** Where the time of a notice is; both `null`: in the header with the signature. */
export interface TimeSource {
  readonly header: string | null;
  /** JSON pointer into the body. */
  readonly field: string | null;
}

/** How a sender signs a notice. Texts in braces are placeholders. */
export interface Scheme {
  readonly header: string;
  readonly encoding: 'hex' | 'base64';
  /** Before each digest. */
  readonly prefix: string;
  readonly key: 'text' | 'base64';
  /** The value of the header. */
  readonly format: string;
  readonly signs: string;
  readonly idHeader: string;
  /** `null`: not checked. */
  readonly timestamp: TimeSource | null;
  readonly toleranceMs: number;
}

export type Digest = 'hmac-sha256' | 'hmac-sha512' | 'hmac-sha1';

/** `secrets`: any of them may sign. */
export type Signature = { readonly secrets: readonly SecretRef[] } & (
  | ({ readonly algorithm: 'token' } & Pick<Scheme, 'header' | 'prefix'>)
  | ({ readonly algorithm: Digest } & Scheme)
);

const STANDARD: Scheme = {
  header: 'X-Webhook-Signature',
  encoding: 'hex',
  prefix: '',
  key: 'text',
  format: '{signature}',
  signs: '{body}',
  idHeader: 'webhook-id',
  timestamp: null,
  toleranceMs: 300_000,
};

const inHeader = (header: string): TimeSource => ({ header, field: null });

/** How services that publish their scheme sign notices. */
const PRESETS = {
  'standard-webhooks': {
    header: 'webhook-signature',
    encoding: 'base64',
    key: 'base64',
    format: 'v1,{signature}',
    signs: '{id}.{timestamp}.{body}',
    timestamp: inHeader('webhook-timestamp'),
  },
  stripe: {
    header: 'Stripe-Signature',
    format: 't={timestamp},v1={signature}',
    signs: '{timestamp}.{body}',
    timestamp: { header: null, field: null },
  },
  slack: {
    header: 'X-Slack-Signature',
    prefix: 'v0=',
    signs: 'v0:{timestamp}:{body}',
    timestamp: inHeader('X-Slack-Request-Timestamp'),
  },
  github: { header: 'X-Hub-Signature-256', prefix: 'sha256=' },
  zendesk: {
    header: 'X-Zendesk-Webhook-Signature',
    encoding: 'base64',
    signs: '{timestamp}{body}',
    timestamp: inHeader('X-Zendesk-Webhook-Signature-Timestamp'),
  },
  hubspot: {
    header: 'X-HubSpot-Signature-v3',
    encoding: 'base64',
    signs: '{method}{url}{body}{timestamp}',
    timestamp: inHeader('X-HubSpot-Request-Timestamp'),
  },
  linear: {
    header: 'Linear-Signature',
    timestamp: { header: null, field: '/webhookTimestamp' },
    toleranceMs: 60_000,
  },
  zoom: {
    header: 'x-zm-signature',
    prefix: 'v0=',
    signs: 'v0:{timestamp}:{body}',
    timestamp: inHeader('x-zm-request-timestamp'),
  },
} as const satisfies Record<string, Partial<Scheme>>;

type Preset = keyof typeof PRESETS;

/** What a preset signs; `null` for a preset that does not exist. */
export function signedByPreset(preset: unknown): string | null {
  if (typeof preset !== 'string' || !Object.hasOwn(PRESETS, preset)) return null;
  return ({ ...STANDARD, ...PRESETS[preset as Preset] } as Scheme).signs;
}

const headerName = () =>
  formed(
    'the name of an HTTP header such as X-Webhook-Signature',
    /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/,
    'the name of an HTTP header',
  );

/** A text with placeholders. */
function template(example: string, allowed: readonly string[], required: string) {
  const what = `a text such as ${example} with {${required}}; placeholders: ${allowed.map((name) => `{${name}}`).join(', ')}`;
  return parsedString(what, (text) => {
    const used = Array.from(text.matchAll(/\{([^{}]{0,20})\}/g), ([, name]) => name!);
    const isGood = used.every((name) => allowed.includes(name)) && used.includes(required);
    if (!isGood || text.length > 200) throw new RangeError(invalidValue(text, what));
    return text;
  });
}

const tolerance = () => duration({ unit: 'm', min: 1000, max: DAY_MS }).optional();

const timestamp = section({
  header: headerName()
    .optional()
    .describe(
      'Header with the send time: Unix seconds or milliseconds, or ISO 8601. Default: `X-Webhook-Timestamp`.',
    ),
  field: parsedString('a JSON pointer such as /webhookTimestamp', readJsonPointer)
    .optional()
    .describe('JSON pointer to the send time in the body, instead of a header.'),
  tolerance: tolerance().describe("Largest difference from the receiver's clock. Default: `5m`."),
  signs: choice(['timestamp.body', 'body'])
    .optional()
    .describe(
      'What is signed: the time, a dot and the body, or the body alone. Default: `timestamp.body` for a header. `signature.signs` replaces it.',
    ),
});

/** `webhook.signature` of a connection. */
export const signature = section({
  preset: choice(Object.keys(PRESETS) as [Preset, ...Preset[]])
    .optional()
    .describe('The scheme of a known sender; the other keys change it. Default: none.'),
  header: headerName().optional().describe('Header with the signature. Default: `X-Webhook-Signature`.'),
  algorithm: choice(['hmac-sha256', 'hmac-sha512', 'hmac-sha1', 'token'])
    .prefault('hmac-sha256')
    .describe('Algorithm. With `token`, the header contains the secret itself.'),
  encoding: choice(['hex', 'base64']).optional().describe('Encoding of the digest. Default: `hex`.'),
  prefix: formed(
    'up to 64 characters such as sha256=',
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression excludes control characters
    /^[^\u0000-\u001f\u007f]{0,64}$/,
    'a prefix of the digest such as sha256=',
  )
    .optional()
    .describe(
      'Text before the digest or token, such as `sha256=` or `Bearer ` with its space. Default: `""`.',
    ),
  format: template('t={timestamp},v1={signature}', ['timestamp', 'id', 'signature'], 'signature')
    .optional()
    .describe('The parts of the header, such as `t={timestamp},v1={signature}`. Default: `{signature}`.'),
  signs: template('{timestamp}.{body}', ['timestamp', 'id', 'method', 'url', 'body'], 'body')
    .optional()
    .describe(
      'What is signed, such as `{timestamp}.{body}`. `{url}` requires `webhook.publicUrl`. Default: `{body}`.',
    ),
  key: choice(['text', 'base64'])
    .optional()
    .describe(
      'How the secret becomes the key: as it is, or decoded, without the beginning `whsec_`. Default: `text`.',
    ),
  idHeader: headerName().optional().describe('Header with the `{id}`. Default: `webhook-id`.'),
  secret: secretRef()
    .optional()
    .describe('Source of the secret. Default: `{ env: WORKTRACK_WEBHOOK_SECRET }`.'),
  secrets: z
    .array(secretRef())
    .min(1)
    .max(5)
    .optional()
    .describe('Several secrets instead of `secret`, to rotate them. Any of them may sign.'),
  tolerance: tolerance().describe(
    "Largest difference between the time of a notice and the receiver's clock. Default: `5m`.",
  ),
  timestamp: timestamp
    .optional()
    .describe('Where the time of a notice is. Default: a time is checked only if it is signed.'),
}).transform(({ secret, secrets, ...given }): Signature => {
  const refs = secrets ?? [secret ?? { env: 'WORKTRACK_WEBHOOK_SECRET' }];
  const scheme = schemeOf(given);
  if (given.algorithm !== 'token') return { ...scheme, algorithm: given.algorithm, secrets: refs };
  return { algorithm: 'token', header: scheme.header, prefix: scheme.prefix, secrets: refs };
});

interface Given extends Optional<Omit<Scheme, 'timestamp' | 'toleranceMs'>> {
  readonly preset?: Preset | undefined;
  readonly tolerance?: number | undefined;
  readonly timestamp?: z.output<typeof timestamp> | undefined;
}

type Optional<T> = { readonly [Key in keyof T]?: T[Key] | undefined };

function schemeOf({ preset, timestamp: time, tolerance: within, ...given }: Given): Scheme {
  const known: Partial<Scheme> = preset === undefined ? {} : PRESETS[preset];
  const base = { ...STANDARD, ...known };
  const format = given.format ?? base.format;
  const signs = given.signs ?? (known.signs === undefined ? legacySigns(time) : null) ?? base.signs;
  return {
    header: given.header ?? base.header,
    encoding: given.encoding ?? base.encoding,
    prefix: given.prefix ?? base.prefix,
    key: given.key ?? base.key,
    idHeader: given.idHeader ?? base.idHeader,
    format,
    signs,
    timestamp: timeSource(format, signs, time, base.timestamp),
    toleranceMs: within ?? time?.tolerance ?? base.toleranceMs,
  };
}

/** What `timestamp` alone says about what is signed. */
function legacySigns(time: Given['timestamp']): string | null {
  if (time === undefined) return null;
  return (time.signs ?? (time.field === undefined ? 'timestamp.body' : 'body')) === 'body'
    ? '{body}'
    : '{timestamp}.{body}';
}

function timeSource(
  format: string,
  signs: string,
  time: Given['timestamp'],
  base: TimeSource | null,
): TimeSource | null {
  if (time?.field !== undefined) return { header: null, field: time.field };
  if (time?.header !== undefined) return inHeader(time.header);
  if (format.includes('{timestamp}')) return { header: null, field: null };
  if (base !== null && (base.header !== null || base.field !== null)) return base;
  const isChecked = time !== undefined || signs.includes('{timestamp}');
  return isChecked ? inHeader('X-Webhook-Timestamp') : null;
}
