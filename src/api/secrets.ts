import { readFile, stat } from 'node:fs/promises';
import { ConfigurationError } from '../core/configuration-error.js';
import type { SecretRef } from '../core/settings.js';

export interface Secret {
  readonly value: string;
  /** The file can be read by every user of the machine, which deserves a warning. Never true for a variable. */
  readonly worldReadable: boolean;
}

/** A key of this size is a mistaken path, and must not be read into memory whole. */
const MAX_FILE_BYTES = 64 * 1024;

export interface ResolveOptions {
  /** In the configuration, for messages. */
  readonly path?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** `header`: a whole header value, such as `Bearer …`, in which spaces may stand. Default: `token`. */
  readonly form?: SecretForm;
}

type SecretForm = 'token' | 'header';

/**
 * Reads a secret from where the configuration says, without the white space around it (files end in a line break).
 * Throws ConfigurationError, which names the variable or file but never the value, when it is absent, unreadable,
 * empty, or holds anything but visible ASCII (in a header, spaces too): a line break would end the HTTP header that it goes into.
 */
export async function resolveSecret(ref: SecretRef, options: ResolveOptions = {}): Promise<Secret> {
  const { path = null, form = 'token' } = options;
  if ('env' in ref) {
    const text = (options.env ?? process.env)[ref.env];
    const remedy = `Set ${ref.env} in the environment of the worker.`;
    if (text === undefined) {
      throw new ConfigurationError(`The environment variable ${ref.env} is not set.`, { path, remedy });
    }
    return { value: checked(text, `The environment variable ${ref.env}`, path, form), worldReadable: false };
  }
  const { text, worldReadable } = await readSecretFile(ref.file, path);
  return { value: checked(text, `The file ${ref.file}`, path, form), worldReadable };
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
    // Windows has no such bits and reports them as set.
    const worldReadable = process.platform !== 'win32' && (mode & 0o004) !== 0;
    return { text: await readFile(file, 'utf8'), worldReadable };
  } catch (cause) {
    if (cause instanceof ConfigurationError) throw cause;
    const why = (cause as NodeJS.ErrnoException).code ?? 'unknown error';
    throw new ConfigurationError(`The file ${file} cannot be read (${why}).`, {
      path,
      remedy: 'Check that it exists and that the worker may read it.',
      cause,
    });
  }
}

function checked(text: string, subject: string, path: string | null, form: SecretForm): string {
  const value = text.trim();
  if (value === '') throw new ConfigurationError(`${subject} is empty.`, { path });
  if (!(form === 'header' ? /^[\x20-\x7e]+$/ : /^[\x21-\x7e]+$/).test(value)) {
    const space = form === 'header' ? '' : 'a space, ';
    throw new ConfigurationError(`${subject} holds ${space}a line break or a character outside ASCII.`, {
      path,
      remedy: 'Copy the secret again, without quotes, labels or line breaks.',
    });
  }
  return value;
}

/** A changed file is seen after this long; reading it for every request would cost more than it gives. */
const CACHE_MS = 3_000;

/** Reads one secret again and again, from a file at most every few seconds. It keeps the value out of sight. */
export class SecretReader {
  readonly #ref: SecretRef;
  readonly #path: string;
  readonly #now: () => number;
  #cached: { readonly secret: Secret; readonly at: number } | null = null;

  constructor(ref: SecretRef, options: { readonly path: string; readonly now: () => number }) {
    this.#ref = ref;
    this.#path = options.path;
    this.#now = options.now;
  }

  /** As `resolveSecret`. */
  async read(): Promise<Secret> {
    const now = this.#now();
    const cached = this.#cached;
    if (cached !== null && now - cached.at >= 0 && now - cached.at < CACHE_MS) return cached.secret;
    const secret = await resolveSecret(this.#ref, { path: this.#path });
    this.#cached = 'file' in this.#ref ? { secret, at: now } : null;
    return secret;
  }
}
