import { DAY_MS } from '../core/duration.js';
import type { ParsedResource } from './schema-resource.js';

/** The resources in the spec, mirrored if the file names none. */
export const DEFAULT_RESOURCES = ['projects', 'tasks', 'time-entries', 'calendar-entries'];

interface NameDefaults {
  readonly key?: readonly string[];
  readonly windowMs?: number;
  readonly fetchById?: boolean;
}

/** Defaults from the spec: windows of 90 days, the compound key of calendar entries, and fetch by id for projects only. */
const BY_NAME: ReadonlyMap<string, NameDefaults> = new Map<string, NameDefaults>([
  ['projects', { fetchById: true }],
  ['time-entries', { windowMs: 90 * DAY_MS }],
  ['calendar-entries', { windowMs: 90 * DAY_MS, key: ['source', 'sourceKey'] }],
]);

/** The settings of a resource whose defaults depend on its name. */
export function withNameDefaults(resource: ParsedResource): {
  readonly key: readonly string[];
  readonly windowMs: number | null;
  readonly fetchById: boolean;
} {
  const defaults = BY_NAME.get(resource.name) ?? {};
  return {
    key: resource.key ?? defaults.key ?? ['id'],
    // `null` stands for `none` in the file and overrides the default.
    windowMs: resource.window === undefined ? (defaults.windowMs ?? null) : resource.window,
    fetchById: resource.fetchById ?? defaults.fetchById ?? false,
  };
}
