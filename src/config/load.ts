import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigurationError } from '../core/errors.js';
import { configFile } from '../core/schema/config-schema.js';
import type { Settings } from '../core/settings.js';
import { systemCause } from '../core/system-error.js';
import { crossCheck } from './cross-checks.js';
import { applyDefaults } from './defaults.js';
import { readDocument, type TextPosition } from './document.js';
import { formatPath, problemsOf, type RawProblem, SettingsError, type SettingsProblem } from './problems.js';
import { withSdkEndpoints } from './sdk-endpoint.js';

/** Default file names in the working directory, in the order of the search (docs/reference/configuration.md). */
const CONFIG_FILES = ['worktrack.yaml', 'worktrack.yml', 'worktrack.json'] as const;

export interface LoadOptions {
  /** The value of `--config`. */
  readonly file?: string | undefined;
  /** `process.env`; only `WORKTRACK_CONFIG` and the variables of the AWS SDK for an endpoint are read. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/**
 * Finds and reads the configuration: `file`, or `$WORKTRACK_CONFIG`, or the first of `CONFIG_FILES` in `cwd`.
 *
 * @throws ConfigurationError if there is no file or it cannot be read; SettingsError if it has problems.
 * @example
 * const settings = loadSettings({ env: process.env, cwd: process.cwd() });
 */
export function loadSettings(options: LoadOptions): Settings {
  const { text, source } = findConfig(options);
  return parse(text, source, (tree) => withSdkEndpoints(tree, options.env));
}

/** A configuration file. */
interface FoundConfig {
  readonly text: string;
  /** Its name for messages. */
  readonly source: string;
  /** Absolute. */
  readonly path: string;
}

/** Finds the file as `loadSettings` does, and reads its text. @throws ConfigurationError */
export function findConfig({ file, env, cwd }: LoadOptions): FoundConfig {
  if (file === '') throw new ConfigurationError('--config is empty', { remedy: 'Set --config to a path.' });
  const named = file ?? (env.WORKTRACK_CONFIG || undefined);
  const variable = file === undefined ? '$WORKTRACK_CONFIG' : '--config';
  const origin = named === undefined ? 'the working directory' : variable;
  for (const name of named === undefined ? CONFIG_FILES : [named]) {
    const path = resolve(cwd, name);
    const text = readText(path, name, origin);
    if (text !== null) return { text, source: name, path };
  }
  if (named !== undefined)
    throw new ConfigurationError(`${resolve(cwd, named)} does not exist (from ${origin})`, {
      remedy: `Correct ${origin}, or create the file with \`worktrack init\`.`,
    });
  throw new ConfigurationError(
    `no configuration found: --config is not given, $WORKTRACK_CONFIG is not set, and ${cwd} has none of ${CONFIG_FILES.join(', ')}`,
    { remedy: 'Create one with `worktrack init`, or name a file with --config.' },
  );
}

/** The text of the file, or `null` if it does not exist. */
function readText(path: string, shown: string, origin: string): string | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new ConfigurationError(`cannot read ${shown} (from ${origin}): ${systemCause(error)}`, {
      remedy: 'Make sure that it is a file and that this user can read it.',
      cause: error,
    });
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ConfigurationError(`cannot read ${shown} (from ${origin}): it is not UTF-8 text`, {
      remedy: 'Save the file as UTF-8.',
      cause: error,
    });
  }
}

/**
 * Parses a configuration (YAML 1.2 or JSON, docs/reference/configuration.md), checks it and fills in defaults. `source`
 * is the file name, for messages. Reads no environment variables, files or network.
 *
 * @throws SettingsError with all problems; no message repeats a secret.
 * @example
 * const settings = parseSettings(await readFile('worktrack.yaml', 'utf8'), 'worktrack.yaml');
 */
export function parseSettings(text: string, source: string): Settings {
  return parse(text, source, (tree) => tree);
}

/** @param complete adds what the surroundings set */
function parse(text: string, source: string, complete: (tree: unknown) => unknown): Settings {
  const doc = readDocument(text);
  const problems = doc.problems.map((problem) => located(problem, problem.place));
  if (doc.tree === undefined) throw new SettingsError(source, problems);
  // Zod would compile a parser for each object, which takes longer than parsing once.
  const { tree: given, problems: wrongDefaults, relocate } = applyDefaults(doc.tree);
  const tree = complete(given);
  const parsed = configFile.safeParse(tree, { jitless: true });
  const found = [...problemsOf(parsed.error?.issues ?? []), ...crossCheck(tree)];
  for (const problem of [...wrongDefaults, ...relocate(found)])
    problems.push(located(problem, doc.locate(problem.path, problem.at ?? 'value')));
  if (!parsed.success || problems.length > 0) {
    throw new SettingsError(source, problems.sort(byPlace));
  }
  const connections = Object.entries(parsed.data.connections).map(([name, one]) => ({ name, ...one }));
  return deepFreeze({ source, connections });
}

/** Deeply freezes a tree of plain objects and lists, and returns it. */
function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const child of Object.values(value)) deepFreeze(child);
  return value;
}

function located({ path, message }: RawProblem, place: TextPosition | null): SettingsProblem {
  return { path: formatPath(path), line: place?.line ?? null, column: place?.column ?? null, message };
}

function byPlace(a: SettingsProblem, b: SettingsProblem): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}
