import { createHash } from 'node:crypto';
import type { ConnectionSettings } from './settings.js';

/**
 * A connection's configuration as hashes: from each key, such as `lake.url` or `resources.tasks.path`, to a short hash of
 * its value. It contains no value and no secret, so workers may publish it.
 */
export type ConfigDigest = Readonly<Record<string, string>>;

/** The keys that differ between two configurations of a connection. */
export interface ConfigDifference {
  /** Resources that only the first one has. */
  readonly added: readonly string[];
  /** Resources that only the second one has. */
  readonly missing: readonly string[];
  /** Other keys with different values, as in the file. */
  readonly keys: readonly string[];
}

/** `webhook` and `schedule` are left out: only commands use them. */
const NOT_USED_BY_WORKERS: readonly (keyof ConnectionSettings)[] = ['name', 'webhook', 'schedule'];

/** Settings whose name in the file is not the setting's name without its unit. */
const NAMES_IN_FILE: Readonly<Record<string, string>> = {
  keepPerDay: 'keep',
  partBytes: 'partSize',
  updatedAtField: 'updatedAt',
  windowField: 'windowField',
};

/**
 * The fingerprint of a connection's configuration: 12 hex digits, equal for equal configurations, whatever the order and
 * the format of the file. It depends on the names of secrets' variables and files, and not on the secrets.
 *
 * @example
 * configFingerprint(selectConnection(settings, 'acme')) // '5f0c2a9be41d'
 */
export function configFingerprint(connection: ConnectionSettings): string {
  return hash(JSON.stringify(Object.entries(configDigest(connection)).sort()), 12);
}

/** The hashes of a connection's configuration. */
export function configDigest(connection: ConnectionSettings): ConfigDigest {
  const digest: Record<string, string> = {};
  const add = (path: string, value: unknown): void => {
    const isSection = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!isSection) digest[path] = hash(JSON.stringify(value) ?? '', 8);
    else
      for (const [name, child] of Object.entries(value))
        if (!isInputProfile(path, name)) add(`${path}.${inFile(name)}`, child);
  };
  for (const [name, value] of Object.entries(connection)) {
    if (NOT_USED_BY_WORKERS.includes(name as keyof ConnectionSettings)) continue;
    if (name !== 'resources') add(inFile(name), value);
  }
  for (const { name, ...resource } of connection.resources) add(`resources.${name}`, resource);
  return digest;
}

/** Only commands use `writeBack.<resource>.input`. */
function isInputProfile(path: string, name: string): boolean {
  return name === 'input' && /^writeBack\.[^.]+$/.test(path);
}

/** Compares two configurations of a connection; `null`: they are equal. */
export function configDifference(first: ConfigDigest, second: ConfigDigest): ConfigDifference | null {
  const [ours, theirs] = [resourcesOf(first), resourcesOf(second)];
  const common = ours.filter((name) => theirs.includes(name));
  const changed = [...new Set([...Object.keys(first), ...Object.keys(second)])].filter((key) => {
    const [, resource] = RESOURCE_KEY.exec(key) ?? [];
    return first[key] !== second[key] && (resource === undefined || common.includes(resource));
  });
  const difference = {
    added: ours.filter((name) => !theirs.includes(name)),
    missing: theirs.filter((name) => !ours.includes(name)),
    keys: summarized(changed, common),
  };
  return Object.values(difference).every((found) => found.length === 0) ? null : difference;
}

/** Keys that a dry run can preview, because they only shape rows (docs/how-to/checks.md#see-a-run-before-it-is-published). Those before the last are of a resource. */
export const PREVIEWED = [
  'columns',
  'csv',
  'checks',
  'deletes',
  'key',
  'window',
  'windowField',
  'tables.types',
] as const;

/** The keys that differ, and that a dry run of one configuration cannot show with a worker that has the other one. */
export function notPreviewed(first: ConfigDigest, second: ConfigDigest): string[] {
  const isPreviewed = (key: string): boolean => {
    const own = RESOURCE_KEY.exec(key)?.[2] ?? key;
    return PREVIEWED.some((one) => own === one || own.startsWith(`${one}.`));
  };
  const keys = new Set([...Object.keys(first), ...Object.keys(second)]);
  const [ours, theirs] = [resourcesOf(first), resourcesOf(second)];
  const only = (key: string): string => {
    const name = RESOURCE_KEY.exec(key)?.[1];
    return name === undefined || (ours.includes(name) && theirs.includes(name)) ? key : `resources.${name}`;
  };
  const changed = [...keys].filter((key) => first[key] !== second[key]).map(only);
  return [...new Set(changed)].filter((key) => !isPreviewed(key)).sort();
}

/** A resource's name has no dot. */
const RESOURCE_KEY = /^resources\.([^.]+)\.(.+)$/;

function resourcesOf(digest: ConfigDigest): string[] {
  return [...new Set(Object.keys(digest).flatMap((key) => RESOURCE_KEY.exec(key)?.[1] ?? []))];
}

/** Names a key once that differs in every resource, such as `csv.compression` of the connection. */
function summarized(keys: readonly string[], resources: readonly string[]): string[] {
  const inAll = (key: string): boolean =>
    resources.length > 1 && resources.every((name) => keys.includes(`resources.${name}.${key}`));
  const named = keys.map((key) => {
    const [, , own] = RESOURCE_KEY.exec(key) ?? [];
    return own !== undefined && inAll(own) ? own : key;
  });
  return [...new Set(named)].sort();
}

function inFile(name: string): string {
  return NAMES_IN_FILE[name] ?? name.replace(/(Ms|Bytes|Field)$/, '');
}

function hash(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}
