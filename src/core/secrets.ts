import { createHmac, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { readFile, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigurationError } from './errors.js';
import { rememberSecret } from './known-secrets.js';
import { parseUrl } from './parse-url.js';
import type { SecretRef } from './settings.js';
import { systemCause } from './system-error.js';

interface Secret {
  readonly value: string;
  /** Whether every user of the machine can read the file, which leads to a warning. Always false for a variable. */
  readonly worldReadable: boolean;
}

/** A larger file is a wrong path, and must not be read into memory. */
const MAX_FILE_BYTES = 64 * 1024;

/** A shorter webhook secret can be found by trying, so it gets a warning. */
export const MIN_WEBHOOK_SECRET_CHARS = 16;

interface ResolveOptions {
  /** Path in the configuration, for messages. */
  readonly path?: string | null;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** `header`: a whole header value, such as `Bearer …`, which may contain spaces. Default: `token`. */
  readonly form?: 'token' | 'header';
}

/**
 * Reads a secret from the configured variable or file. Trims surrounding white space, because files end in a line break.
 *
 * @throws ConfigurationError if the secret is absent, unreadable, empty, or contains anything but visible ASCII (a header
 *   value may contain spaces): a line break would end its HTTP header. The message names the variable or file, never the
 *   value
 */
export async function resolveSecret(ref: SecretRef, options: ResolveOptions = {}): Promise<Secret> {
  if ('env' in ref) return readVariable(ref.env, options);
  const { text, worldReadable } = await readSecretFile(ref.file, options.path ?? null);
  return { value: checked(text, `The file ${ref.file}`, options), worldReadable };
}

function readVariable(name: string, options: ResolveOptions): Secret {
  const { path = null, env = process.env } = options;
  const text = env[name];
  if (text === undefined) {
    const remedy = `Set ${name} in the environment of the worker or command that reports this.`;
    throw new ConfigurationError(`The environment variable ${name} is not set.`, { path, remedy });
  }
  return { value: checked(text, `The environment variable ${name}`, options), worldReadable: false };
}

async function readSecretFile(
  file: string,
  path: string | null,
): Promise<{ text: string; worldReadable: boolean }> {
  try {
    const { mode, size } = await stat(file);
    if (size > MAX_FILE_BYTES) {
      throw new ConfigurationError(`The file ${file} is too large (${size} bytes) to be a secret.`, { path });
    }
    // Windows has no such bits, and Node reports them as set.
    const worldReadable = process.platform !== 'win32' && (mode & 0o004) !== 0;
    return { text: await readFile(file, 'utf8'), worldReadable };
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    const why = systemCause(cause);
    throw new ConfigurationError(`The file ${file} cannot be read (${why}).`, {
      path,
      remedy: 'Check that the file exists and that the worker has permission to read it.',
      cause,
    });
  }
}

function checked(text: string, subject: string, options: ResolveOptions): string {
  const value = text.trim();
  // Also one that cannot be used: the message of a library may repeat it.
  rememberSecret(value);
  checkForm(value, subject, options);
  return value;
}

function checkForm(value: string, subject: string, { path = null, form }: ResolveOptions): void {
  if (value === '') throw new ConfigurationError(`${subject} is empty.`, { path });
  if (!(form === 'header' ? /^[\x20-\x7e]+$/ : /^[\x21-\x7e]+$/).test(value)) {
    const space = form === 'header' ? '' : 'a space, ';
    throw new ConfigurationError(`${subject} contains ${space}a line break or a character outside ASCII.`, {
      path,
      remedy: 'Copy the secret again, without quotes, labels or line breaks.',
    });
  }
}

/** How a variable holds its secret. `key`: text in PEM; `headers`: `name=value` pairs; `url`: a URL that may have a password. */
type VariableForm = 'token' | 'header' | 'key' | 'headers' | 'url';

/** The variables that hold secrets of libraries: of Temporal, the AWS SDK, OpenTelemetry, and proxies. */
const SECRET_VARIABLES: readonly (readonly [name: RegExp, form: VariableForm])[] = [
  [/^TEMPORAL_API_KEY$/, 'token'],
  [/^TEMPORAL_(?:CODEC_AUTH|GRPC_META_[A-Z0-9_]+)$/, 'header'],
  [/^TEMPORAL_TLS_CLIENT_KEY_DATA$/, 'key'],
  [/^AWS_(?:SECRET_ACCESS_KEY|SESSION_TOKEN)$/, 'token'],
  [/^AWS_CONTAINER_AUTHORIZATION_TOKEN$/, 'header'],
  [/^OTEL_EXPORTER_OTLP_(?:TRACES_)?HEADERS$/, 'headers'],
  [/^OTEL_EXPORTER_OTLP_(?:TRACES_)?ENDPOINT$/, 'url'],
  [/^https?_proxy$/i, 'url'],
];

type Variables = Record<string, string | undefined>;

/** Variables of Temporal and the AWS SDK: like their own tools, we take an empty one for unset. */
const OF_LIBRARIES = /^(?:TEMPORAL|AWS)_/;

/**
 * Reads the secrets of all libraries from their variables, so that `redactKnown` replaces them. Removes white space at the ends of
 * their variables, and empty ones, also in `env` itself, because the libraries read it: a value that is made of a file ends in
 * a line break, and a template leaves an empty one.
 */
export function rememberEnvironment(env: Variables = process.env): void {
  for (const [name, text] of Object.entries(env)) {
    const form = formOf(name);
    const isTheirs = OF_LIBRARIES.test(name);
    if (text === undefined || (form === null && !isTheirs)) continue;
    const value = text.trim();
    if (value === '' && isTheirs) delete env[name];
    else if (value !== text) env[name] = value;
    if (value === '' || form === null) continue;
    for (const secret of secretsIn(value, form)) rememberSecret(secret);
  }
}

/**
 * Checks the variables of a library before it reads them. Reads its secrets as `rememberEnvironment` does.
 *
 * @param prefix of the names of the library's variables
 * @throws ConfigurationError that names the variable if it is in quotation marks and no secret, or if no header can carry its secret
 */
export function checkEnvironment(prefix: 'TEMPORAL_' | 'AWS_' | 'OTEL_', env: Variables = process.env): void {
  rememberEnvironment(env);
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(prefix) || value === undefined || value === '') continue;
    const form = formOf(name);
    if (form === null && OF_LIBRARIES.test(name) && /^(["']).*\1$/s.test(value)) {
      throw new ConfigurationError(`The environment variable ${name} is in quotation marks.`, {
        remedy:
          'Remove them: files of variables, such as those of containers, take them for a part of the value.',
      });
    }
    if (name === 'AWS_ACCESS_KEY_ID') checkForm(value, `The environment variable ${name}`, {});
    if (form === null || form === 'key' || form === 'url') continue;
    checked(value, `The environment variable ${name}`, { form: form === 'token' ? 'token' : 'header' });
  }
}

/** Trims a secret that is in another file than those of the configuration. @param subject what holds it, for the message */
export function checkedSecret(text: string, subject: string): string {
  return checked(text, subject, {});
}

function formOf(name: string): VariableForm | null {
  return SECRET_VARIABLES.find(([pattern]) => pattern.test(name))?.[1] ?? null;
}

function secretsIn(value: string, form: VariableForm): string[] {
  if (form === 'headers')
    return [value, ...value.split(',').map((pair) => decoded(pair.slice(pair.indexOf('=') + 1)))];
  if (form !== 'url') return [value];
  const url = parseUrl(value.includes('://') ? value : `http://${value}`);
  // Of a text that is no URL, any part may be the password.
  if (url === null) return [value];
  return [url.password, decoded(url.password)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text).trim();
  } catch {
    return text.trim();
  }
}

/** Rejects when the signal is aborted. */
async function abortOf(signal: AbortSignal): Promise<never> {
  await once(signal, 'abort');
  throw signal.reason;
}

/** A changed file takes effect within this time. Reading it for every request would be slow. */
const CACHE_MS = 3_000;
/** A file that is being replaced is read again after this time. */
const AGAIN_MS = 250;

/** Reads one secret repeatedly, from a file at most every few seconds. The value is in a private field, so logs cannot show it. */
export class SecretReader {
  /** For the fingerprint of each rejected value, the wait for its replacement. */
  readonly #awaited = new Map<string, Promise<void>>();
  #cached: { readonly secret: Secret; readonly at: number } | null = null;

  constructor(
    private readonly ref: SecretRef,
    private readonly options: ResolveOptions & { readonly path: string; readonly now: () => number },
  ) {}

  /** Same as `resolveSecret`. */
  async read(): Promise<Secret> {
    const known = this.readAtOnce();
    if (known !== null) return known;
    const at = this.options.now();
    const secret = await resolveSecret(this.ref, this.options);
    this.#cached = { secret, at };
    return secret;
  }

  /**
   * Whether the file has another value than a rejected one, now or within a time. The first call for a value waits; later calls only
   * look. A variable never changes.
   */
  async isReplaced(
    value: string,
    { withinMs, signal }: { readonly withinMs: number; readonly signal?: AbortSignal | undefined },
  ): Promise<boolean> {
    if ('env' in this.ref) return false;
    const code = secretFingerprint(value, 'an API key');
    const waiting = this.#awaited.get(code) ?? this.#awaitOther(value, withinMs);
    this.#awaited.set(code, waiting);
    signal?.throwIfAborted();
    await Promise.race([waiting, ...(signal === undefined ? [] : [abortOf(signal)])]);
    return (await this.#readOther(value)) !== null;
  }

  async #awaitOther(value: string, withinMs: number): Promise<void> {
    const endsAt = performance.now() + withinMs;
    while ((await this.#readOther(value)) === null && performance.now() < endsAt)
      await delay(AGAIN_MS, undefined, { ref: false });
  }

  /** The secret in the file, if it is another one. While it is being replaced, the file may be missing or empty. */
  async #readOther(value: string): Promise<Secret | null> {
    const secret = await resolveSecret(this.ref, this.options).catch(() => null);
    if (secret === null || secret.value === value) return null;
    this.#cached = { secret, at: this.options.now() };
    return secret;
  }

  /** The secret, if it takes no wait: a variable, or a file that was just read. Otherwise `null`: use `read`. */
  readAtOnce(): Secret | null {
    if ('env' in this.ref) return readVariable(this.ref.env, this.options);
    if (this.#cached === null) return null;
    const age = this.options.now() - this.#cached.at;
    return age >= 0 && age < CACHE_MS ? this.#cached.secret : null;
  }
}

/**
 * Tells secrets apart without showing them: 16 hexadecimal digits of the HMAC-SHA-256 of a fixed text under the secret itself, so
 * that it is equal on all workers.
 *
 * @param of what kind of secret it is. It must never change: documents of the lake name fingerprints
 */
export function secretFingerprint(secret: string | KeyObject, of: 'a masking secret' | 'an API key'): string {
  return createHmac('sha256', secret)
    .update(`temporal-worktrack: fingerprint of ${of}`)
    .digest('hex')
    .slice(0, 16);
}
