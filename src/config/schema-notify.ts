import { z } from 'zod';
import { notifyUrlProblem } from '../core/notify.js';
import type { NotifySettings, SecretRef } from '../core/settings.js';
import { wrong } from './found.js';
import { choice } from './scalars.js';
import { readSecretRef, SECRET_FORMS, secretRef } from './secret-ref.js';
import { section } from './section.js';

const ALLOWED =
  'an https URL (http on this machine), or { env: NAME_OF_A_VARIABLE } or { file: /absolute/path } where the URL itself is a secret';

/** Whoever knows the URL of some services' webhooks may post there: so it may be a reference, and is never repeated. */
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
    return { problem: value === undefined ? wrong(value, ALLOWED) : `found no URL; allowed: ${ALLOWED}` };
  const problem = notifyUrlProblem(value);
  return problem === null
    ? { found: value }
    : { problem: `what was found (not repeated here) ${problem}; allowed: ${ALLOWED}` };
}

/** What we say ourselves, or what frames the message. */
const OURS = ['host', 'content-type', 'content-length', 'transfer-encoding', 'connection', 'user-agent'];

const headers = z
  .record(z.string(), secretRef(), {
    error: ({ input }) => wrong(input, 'a map from names of headers to { env: … } or { file: … }'),
  })
  .superRefine((found, context) => {
    for (const name of Object.keys(found)) {
      const valid = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name);
      if (valid && !OURS.includes(name.toLowerCase())) continue;
      const message = `${wrong(name, 'names of HTTP headers')} such as Authorization, except ${OURS.join(', ')}`;
      context.addIssue({ code: 'custom', message, path: [name] });
    }
  });

const event = choice(['failure', 'recovery']);

/** `notify` of a connection: who is told of runs that fail, and of the first good one after. */
export const notify = section({
  url: url.describe(
    'Where a POST goes for each run that failed or was refused, and for the first good one after. A reference where the URL itself is a secret; plain http to this machine only.',
  ),
  headers: headers
    .prefault({})
    .describe('Headers of the POST. Values by reference only; the whole value, `Bearer …` too.'),
  on: z
    .array(event, { error: ({ input }) => wrong(input, 'a list out of failure, recovery') })
    .min(1, { error: 'found an empty list; allowed: failure, recovery, or leave `notify` out' })
    .prefault(['failure', 'recovery'])
    .describe('What is told.'),
}).transform(
  ({ on, headers, ...rest }): NotifySettings => ({
    ...rest,
    // Without a prototype, as everywhere that names come from the file.
    headers: Object.assign(Object.create(null), headers),
    on: [...new Set(on)],
  }),
);
