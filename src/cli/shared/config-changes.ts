import { type ConfigDifference, configDifference, configDigest } from '../../config/index.js';
import type { Settings } from '../../core/settings.js';
import { counted } from './text.js';

/** Number of keys that a message lists. */
const MAX_KEYS = 8;

/** Names the keys that differ, such as `sync.pageSize and lake.region differ`; no values. */
export function keysText(keys: readonly string[]): string {
  const listed = keys.slice(0, MAX_KEYS).join(', ');
  const more = keys.length > MAX_KEYS ? ` and ${counted(keys.length - MAX_KEYS, 'more key')}` : '';
  return listed + more;
}

/**
 * What differs between two configurations of a worker, by connection; empty if nothing that a worker uses differs.
 *
 * @param before the configuration in use
 */
export function configChanges(before: Settings, after: Settings): string[] {
  const names = new Set([...before.connections, ...after.connections].map(({ name }) => name));
  return [...names].flatMap((name) => {
    const [old, now] = [before, after].map((one) => one.connections.find((found) => found.name === name));
    if (old === undefined) return [`${name}: new connection`];
    if (now === undefined) return [`${name}: connection removed`];
    const difference = configDifference(configDigest(now), configDigest(old));
    return difference === null ? [] : [`${name}: ${changeText(difference)}`];
  });
}

function changeText({ added, missing, keys }: ConfigDifference): string {
  return [
    ...added.map((name) => `new resource ${name}`),
    ...missing.map((name) => `resource ${name} removed`),
    ...(keys.length === 0 ? [] : [`changed ${keysText(keys)}`]),
  ].join('; ');
}
