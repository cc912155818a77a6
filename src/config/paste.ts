import { stringify } from 'yaml';
import { applyDefaults } from './defaults.js';
import { readDocument } from './document.js';
import { DEFAULT_RESOURCES } from './resource-defaults.js';
import { get, isMap } from './values.js';

/** Keys of a connection's `sync` and of its resources, by name, as they are written in the file. */
export interface SettingsToPaste {
  readonly sync: Readonly<Record<string, string | number>>;
  readonly resources: Readonly<Record<string, Readonly<Record<string, string | boolean>>>>;
}

/**
 * The keys `sync` and `resources` of a connection with some settings added, and with those of `defaults`, as YAML that replaces these keys in the file. All
 * other settings of the two keys stay. A key without additions is left out.
 *
 * @param text the configuration file
 * @returns lines with the indentation of a connection's keys; empty without additions
 */
export function settingsToPaste(text: string, connection: string, added: SettingsToPaste): string {
  const raw = get(applyDefaults(readDocument(text).tree).tree, 'connections', connection);
  const sync = get(raw, 'sync');
  const list = get(raw, 'resources') ?? DEFAULT_RESOURCES;
  const keys = {
    ...(Object.keys(added.sync).length === 0
      ? {}
      : { sync: { ...(isMap(sync) ? sync : {}), ...added.sync } }),
    ...(Object.keys(added.resources).length === 0 || !Array.isArray(list)
      ? {}
      : { resources: list.map((item: unknown) => withAdded(item, added.resources)) }),
  };
  if (Object.keys(keys).length === 0) return '';
  const yaml = stringify(keys, { lineWidth: 0, flowCollectionPadding: true });
  return yaml.replaceAll(/^(?=.)/gm, '    ');
}

function withAdded(item: unknown, added: SettingsToPaste['resources']): unknown {
  const name = typeof item === 'string' ? item : get(item, 'name');
  const more = typeof name === 'string' && Object.hasOwn(added, name) ? added[name] : undefined;
  if (more === undefined) return item;
  return isMap(item) ? { ...item, ...more } : { name, ...more };
}
