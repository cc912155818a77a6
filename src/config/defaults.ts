import { get, invalidValue, isMap } from '../core/schema/values.js';
import type { PathPart, RawProblem } from './problems.js';

/** A file whose connections have the keys of its `defaults`. */
interface WithDefaults {
  readonly tree: unknown;
  readonly problems: readonly RawProblem[];
  /** Moves problems of values that come from `defaults` to the place where they are written, and reports each once. */
  relocate(problems: readonly RawProblem[]): readonly RawProblem[];
}

/**
 * Adds the keys of `defaults` to every connection (docs/reference/configuration.md#defaults-for-all-connections). Maps are
 * merged key by key; other values, lists and secrets of a connection replace those of `defaults`, and `null` removes
 * them.
 */
export function applyDefaults(tree: unknown): WithDefaults {
  const defaults = get(tree, 'defaults');
  const connections = get(tree, 'connections');
  const unchanged: WithDefaults = { tree, problems: [], relocate: (found) => found };
  if (defaults === undefined || !isMap(tree)) return unchanged;
  if (!isMap(defaults)) {
    const allowed = 'a map with keys of a connection, such as { sync: { pageSize: 500 } }';
    const { defaults: _, ...rest } = tree;
    const problem = { path: ['defaults'], message: invalidValue(defaults, allowed) };
    return { ...unchanged, tree: rest, problems: [problem] };
  }
  if (!isMap(connections)) return unchanged;
  const merged = Object.entries(connections).map(([name, one]) => [
    name,
    isMap(one) ? merge(defaults, one) : one,
  ]);
  return {
    ...unchanged,
    tree: { ...tree, connections: Object.fromEntries(merged) },
    relocate(problems) {
      const seen = new Set<string>();
      return problems.flatMap((problem): RawProblem[] => {
        const [first, name, ...path] = problem.path;
        const isOwn = first !== 'connections' || has(connections[String(name)], path);
        if (isOwn || !has(defaults, path)) return [problem];
        // The messages of several connections differ only in paths.
        const place = JSON.stringify(path);
        if (seen.has(place)) return [];
        seen.add(place);
        return [{ ...problem, path: ['defaults', ...path] }];
      });
    },
  };
}

type Section = Readonly<Record<string, unknown>>;

/** Maps that are one value: a part of one and a part of another would be neither. */
function isWhole(key: string, value: Section): boolean {
  return key === 'notify' || Object.hasOwn(value, 'env') || Object.hasOwn(value, 'file');
}

function merge(defaults: Section, own: Section): Section {
  const merged: Record<string, unknown> = { ...defaults };
  for (const [key, value] of Object.entries(own)) {
    const standard = Object.hasOwn(defaults, key) ? defaults[key] : undefined;
    if (value === null && standard !== undefined) delete merged[key];
    else if (isMap(value) && isMap(standard) && !isWhole(key, value) && !isWhole(key, standard))
      merged[key] = merge(standard, value);
    else merged[key] = value;
  }
  return merged;
}

/** Whether a path of maps and lists exists in a tree. */
function has(tree: unknown, path: readonly PathPart[]): boolean {
  let at = tree;
  for (const part of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return false;
    at = (at as Record<PathPart, unknown>)[part];
  }
  return true;
}
