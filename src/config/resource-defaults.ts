import { DAY_MS } from '../core/duration.js';
import type { ResourceSettings } from '../core/settings.js';

/** The resources in the API, mirrored if the file names none. */
export const DEFAULT_RESOURCES = ['projects', 'tasks', 'time-entries', 'calendar-entries'];

type NameDefaults = Pick<ResourceSettings, 'key' | 'windowMs' | 'fetchById'>;

const USUAL: NameDefaults = { key: ['id'], windowMs: null, fetchById: false };

/** From the API: windows of 90 days, the compound key of calendar entries, and fetch by id for projects only. */
const BY_NAME: ReadonlyMap<string, NameDefaults> = new Map([
  ['projects', { ...USUAL, fetchById: true }],
  ['time-entries', { ...USUAL, windowMs: 90 * DAY_MS }],
  ['calendar-entries', { ...USUAL, windowMs: 90 * DAY_MS, key: ['source', 'sourceKey'] }],
]);

/** The settings of a resource whose defaults depend on its name. */
export function defaultsOf(name: string): NameDefaults {
  return BY_NAME.get(name) ?? USUAL;
}
