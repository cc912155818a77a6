import { z } from 'zod';
import { issueAt, parsedValue, withoutPrototype } from './building-blocks.js';
import { readSecretRef, SECRET_ALLOWED, SECRET_FORMS, type SecretRef } from './secret-ref.js';
import { invalidValue } from './values.js';

/** Whether a text is the name of an HTTP header (RFC 9110 5.1), of a usual length. */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name);
}

/** A text of a header (RFC 9110 5.5), or where its secret is. No message repeats the text, which may be a secret. */
const value = parsedValue(
  (found): string | SecretRef => {
    if (typeof found !== 'string') return readSecretRef(found);
    if (/^[\x21-\x7e](?:[\x20-\x7e]{0,4000}[\x21-\x7e])?$/.test(found)) return found;
    throw new RangeError(
      `the text (not repeated here) is empty, too long, or has other characters than visible ASCII; allowed: a text, ${SECRET_ALLOWED}`,
    );
  },
  { title: 'text or secret', oneOf: [{ type: 'string' }, ...SECRET_FORMS] },
);

/** Headers that each request has already, or that say how it is sent. */
const RESERVED =
  /^(?:authorization|host|content-.*|idempotency-key|accept|accept-encoding|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|proxy-.*)$/i;

/** `http.headers`. */
export const requestHeaders = z
  .record(z.string(), value, {
    error: ({ input }) => invalidValue(input, 'a map from header names to texts, { env: … } or { file: … }'),
  })
  .superRefine((found, context) => {
    for (const name of Object.keys(found)) {
      const add = (allowed: string) => context.addIssue(issueAt(invalidValue(name, allowed), name));
      if (!isHeaderName(name)) add('HTTP header names such as X-Gateway-Id');
      else if (RESERVED.test(name))
        add(
          'headers other than Authorization (see `apiKey`), Host, Content-*, Idempotency-Key and those of the connection',
        );
    }
  })
  .transform((found) => withoutPrototype(found));
