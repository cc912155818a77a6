import type { Settings } from '../core/settings.js';
import { crossCheck } from './cross-checks.js';
import { applyDefaults } from './defaults.js';
import { type ConfigDocument, readDocument } from './document.js';
import { formatPath, problemsOf, type RawProblem, type SettingsProblem } from './problems.js';
import { configFile } from './schema.js';
import { SettingsError } from './settings-error.js';

/**
 * Parses a configuration (YAML 1.2 or JSON, docs/reference/configuration.md), checks it and fills in defaults. `source`
 * is the file name, for messages. Reads no environment variables, files or network.
 *
 * @throws SettingsError with all problems; no message repeats a secret.
 * @example
 * const settings = parseSettings(await readFile('worktrack.yaml', 'utf8'), 'worktrack.yaml');
 */
export function parseSettings(text: string, source: string): Settings {
  const doc = readDocument(text);
  const problems: SettingsProblem[] = doc.problems.map(({ path, message, place }) => ({
    path: formatPath(path),
    line: place?.line ?? null,
    column: place?.column ?? null,
    message,
  }));
  if (doc.tree === undefined) throw new SettingsError(source, problems);
  // Zod would compile a parser for each object, which takes longer than parsing once.
  const { tree, problems: wrongDefaults, relocate } = applyDefaults(doc.tree);
  const parsed = configFile.safeParse(tree, { jitless: true });
  const found = [...problemsOf(parsed.error?.issues ?? []), ...crossCheck(tree)];
  problems.push(...[...wrongDefaults, ...relocate(found)].map((problem) => located(problem, doc)));
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

function located({ path, message, at = 'value' }: RawProblem, doc: ConfigDocument): SettingsProblem {
  const place = doc.locate(path, at);
  return { path: formatPath(path), line: place?.line ?? null, column: place?.column ?? null, message };
}

function byPlace(a: SettingsProblem, b: SettingsProblem): number {
  return (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0);
}
