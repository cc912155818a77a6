import type { ParsedResource } from './schema-resource.js';

const DAY = 86_400_000;

interface NameDefaults {
  readonly key?: readonly string[];
  readonly windowMs?: number;
  readonly fetchById?: boolean;
}

/** What the spec says of its own resources: windows of 90 days, the pair as a key, fetch by id for projects only. */
const BY_NAME: ReadonlyMap<string, NameDefaults> = new Map<string, NameDefaults>([
  ['projects', { fetchById: true }],
  ['time-entries', { windowMs: 90 * DAY }],
  ['calendar-entries', { windowMs: 90 * DAY, key: ['source', 'sourceKey'] }],
]);

/** The settings of a resource whose defaults hang on its name. */
export function withNameDefaults(resource: ParsedResource): {
  readonly key: readonly string[];
  readonly windowMs: number | null;
  readonly fetchById: boolean;
} {
  const defaults = BY_NAME.get(resource.name) ?? {};
  return {
    key: resource.key ?? defaults.key ?? ['id'],
    // `null` is the file's `none`, and wins over the default.
    windowMs: resource.window === undefined ? (defaults.windowMs ?? null) : resource.window,
    fetchById: resource.fetchById ?? defaults.fetchById ?? false,
  };
}
