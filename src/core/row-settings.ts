import type { RowSettings } from './contract/index.js';
import type { ConnectionSettings, ResourceSettings, TableSettings } from './settings.js';

/** The settings of a resource that shape its rows. A dry run may preview others than those of the worker. */
const SHAPING = ['columns', 'csv', 'checks', 'deletes', 'key', 'windowMs', 'windowField'] as const;

/** The settings that shape the rows of each resource, and the types of its table's columns. */
export function rowSettingsOf({
  resources,
  tables,
}: Pick<ConnectionSettings, 'resources' | 'tables'>): Record<string, RowSettings> {
  return Object.fromEntries(
    resources.map((resource) => {
      const shaping = Object.fromEntries(SHAPING.map((name) => [name, resource[name]]));
      return [resource.name, { ...shaping, types: tables?.types[resource.name] ?? {} }];
    }),
  );
}

/** A resource and the tables with other settings that shape rows, and with all else as it is. */
export function withRowSettings(
  { resource, tables }: { readonly resource: ResourceSettings; readonly tables: TableSettings | null },
  given: RowSettings,
): { readonly resource: ResourceSettings; readonly tables: TableSettings | null } {
  const shaping = Object.fromEntries(SHAPING.flatMap((name) => (name in given ? [[name, given[name]]] : [])));
  const types = { ...tables?.types, [resource.name]: given.types as TableSettings['types'][string] };
  return { resource: { ...resource, ...shaping }, tables: tables && { ...tables, types } };
}
