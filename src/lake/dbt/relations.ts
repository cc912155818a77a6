import type { Kind } from '../ddl/kinds.js';

/** A resource whose columns may refer to records of another one. */
export interface RelatedResource {
  readonly resource: string;
  /** Columns that hold the service's values, with their types. Masked columns are left out. */
  readonly columns: readonly { readonly name: string; readonly kind: Kind }[];
  /** Names of the key fields. */
  readonly key: readonly string[];
}

/** A column whose values are keys of another resource. */
export interface Relation {
  readonly column: string;
  readonly to: string;
  readonly field: string;
}

/**
 * The columns of a resource that refer to records of another one. The API refers to a record by its `id`, but does not say in
 * which fields. They are found by name: `projectId` and `project_id` refer to `projects`.
 */
export function relationsOf(from: RelatedResource, all: readonly RelatedResource[]): Relation[] {
  return from.columns.flatMap(({ name, kind }) => {
    const [, singular] = /^(.+?)_?id$/i.exec(name) ?? [];
    if (singular === undefined) return [];
    const target = all.find(({ resource }) => plain(resource) === pluralOf(plain(singular)));
    const id = target?.columns.find((column) => column.name === 'id');
    const isKey = target?.key.length === 1 && target.key[0] === 'id';
    // Engines do not compare values of different types.
    if (!isKey || id === undefined || JSON.stringify(id.kind) !== JSON.stringify(kind)) return [];
    return [{ column: name, to: target.resource, field: id.name }];
  });
}

/** Without case and separators: `time-entries` and `timeEntries` are the same. */
function plain(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, '');
}

function pluralOf(name: string): string {
  return name.endsWith('y') ? `${name.slice(0, -1)}ies` : `${name}s`;
}
