import { isAbsolute } from 'node:path';
import { parsedValue } from './building-blocks.js';

/** The variable or file of a secret, which is read at each use (docs/explanation/guarantees.md#secrets). */
export type SecretRef = { readonly env: string } | { readonly file: string };

/** The allowed forms, for messages. */
export const SECRET_ALLOWED = '{ env: NAME_OF_A_VARIABLE } or { file: /absolute/path }';

/** JSON Schemas of the two forms. */
export const SECRET_FORMS: readonly object[] = [
  only('env', { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }),
  only('file', { type: 'string', pattern: '^/' }),
];

/**
 * A reference to a secret. Parsed by hand instead of with a zod map, so that no message repeats the value: users may
 * paste the key itself here, as the value, as a key of the map, or as the name after `env:`.
 */
export function secretRef() {
  return parsedValue(readSecretRef, {
    title: 'secret',
    oneOf: SECRET_FORMS,
    description: 'Source of the secret, never the secret itself.',
  });
}

/** @throws RangeError with a message about the problem that does not repeat the value */
export function readSecretRef(value: unknown): SecretRef {
  const wrong = (problem: string, allowed = SECRET_ALLOWED): never => {
    throw new RangeError(`${problem}; allowed: ${allowed}`);
  };
  if (value === undefined) return wrong('is missing');
  if (typeof value === 'string' || typeof value === 'number')
    throw new RangeError(
      `found a secret in the file itself (not repeated here); put it into an environment variable or a file and write ${SECRET_ALLOWED}`,
    );
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return wrong('is neither a variable nor a file');
  const keys = Object.keys(value);
  const { env, file } = value as { env?: unknown; file?: unknown };
  if (keys.length !== 1 || (keys[0] !== 'env' && keys[0] !== 'file'))
    return wrong('found other keys than exactly one of env and file (not repeated here)');
  if (keys[0] === 'env')
    return typeof env === 'string' && /^[A-Za-z_][A-Za-z0-9_]*$/.test(env)
      ? { env }
      : wrong(
          'the value of env is not the name of an environment variable (not repeated here)',
          'letters, digits and _, such as WORKTRACK_API_KEY, without a $',
        );
  return typeof file === 'string' && isAbsolute(file) && !file.includes('\0')
    ? { file }
    : wrong(
        'the value of file is not an absolute path (not repeated here)',
        'a path such as /run/secrets/worktrack',
      );
}

function only(key: string, schema: object): object {
  return { type: 'object', properties: { [key]: schema }, required: [key], additionalProperties: false };
}
