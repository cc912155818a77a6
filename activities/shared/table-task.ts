import type { RetentionSettings, TableSettings } from '../../src/core/settings.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import type { FixedTypes, TableTask } from '../../src/table/index.js';

export interface TableTaskInput extends Pick<TableTask, 'now' | 'since' | 'signal'> {
  readonly store: ObjectStore;
  readonly resource: string;
  readonly tables: TableSettings;
  readonly retention: RetentionSettings;
}

export function tableTask({ tables, retention, ...rest }: TableTaskInput): TableTask {
  const { badValues } = tables;
  return { ...rest, types: fixedTypes(tables, rest.resource), badValues, retentionMs: retention.snapshotsMs };
}

/** The types that the configuration sets for a resource. It accepts only types of Delta. */
export function fixedTypes({ types }: TableSettings, resource: string): FixedTypes {
  return (Object.hasOwn(types, resource) ? types[resource]! : {}) as FixedTypes;
}
