import { z } from 'zod';
import { notifyUrlProblem } from '../core/notify.js';
import type { NotifySettings, SecretRef } from '../core/settings.js';
import { choice } from './scalars.js';
import { readSecretRef, SECRET_FORMS, secretRef } from './secret-ref.js';
import { section } from './section.js';
import { invalidValue } from './values.js';

const ALLOWED =
  'an https URL (http on this machine), or { env: NAME_OF_A_VARIABLE } or { file: /absolute/path } if the URL itself is a secret';

/** The URL of some webhooks is itself a secret, so it may be a reference and is never repeated in messages. */
const url = z
  .unknown()
  .meta({ title: 'URL or secret', oneOf: [{ type: 'string', pattern: '^https?://' }, ...SECRET_FORMS] })
  .transform((value, context): string | SecretRef => {
    const read = readUrl(value);
    if ('found' in read) return read.found;
    context.issues.push({ code: 'custom', message: read.problem, input: undefined });
    return z.NEVER;
  });

function readUrl(value: unknown): { found: string | SecretRef } | { problem: string } {
  if (typeof value === 'object' && value !== null) {
    const read = readSecretRef(value);
    return typeof read === 'string' ? { problem: read } : { found: read };
  }
  if (typeof value !== 'string')
    return {
      problem: value === undefined ? invalidValue(value, ALLOWED) : `is not a URL; allowed: ${ALLOWED}`,
    };
  const problem = notifyUrlProblem(value);
  return problem === null
    ? { found: value }
    : { problem: `the URL (not repeated here) ${problem}; allowed: ${ALLOWED}` };
}

/** Headers that this package or the HTTP client sets. */
const RESERVED = ['host', 'content-type', 'content-length', 'transfer-encoding', 'connection', 'user-agent'];

const headers = z
  .record(z.string(), secretRef(), {
    error: ({ input }) => invalidValue(input, 'a map from header names to { env: … } or { file: … }'),
  })
  .superRefine((found, context) => {
    for (const name of Object.keys(found)) {
      const valid = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name);
      if (valid && !RESERVED.includes(name.toLowerCase())) continue;
      const message = `${invalidValue(name, 'HTTP header names')} such as Authorization, except ${RESERVED.join(', ')}`;
      context.addIssue({ code: 'custom', message, path: [name] });
    }
  });

const event = choice(['failure', 'recovery']);

/** `notify` of a connection: notifications of failed runs, and of the first published run after a failure. */
export const notify = section({
  url: url.describe(
    'URL that receives a POST for each export with a run that failed or was refused, and for the first published run after it. Use a reference if the URL itself is a secret. Plain http is allowed to this machine only.',
  ),
  headers: headers
    .prefault({})
    .describe(
      'Headers of the POST. Values are references to the complete value, including a prefix such as `Bearer `.',
    ),
  on: z
    .array(event, { error: ({ input }) => invalidValue(input, 'a list of failure, recovery') })
    .min(1, {
      error: 'found an empty list; allowed: failure, recovery. To turn notifications off, remove `notify`',
    })
    .prefault(['failure', 'recovery'])
    .describe('Events that are sent.'),
}).transform(
  ({ on, headers, ...rest }): NotifySettings => ({
    ...rest,
    // No prototype, because names come from the file.
    headers: Object.assign(Object.create(null), headers),
    on: [...new Set(on)],
  }),
);
