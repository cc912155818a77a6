import type { CheckSettings } from '../../core/settings.js';
import type { TableColumn } from '../ddl/column-kinds.js';
import type { Engine, TableSource } from '../ddl/engine.js';
import { columnAliases, viewName } from '../ddl/names-and-quotes.js';
import { logSource, type PublishedResource } from '../ddl/published-sources.js';
import { columnsOf, keyColumns } from '../ddl/text-and-typed-views.js';

/** Columns that the history model adds. A field of the same name gets an alias. */
export const HISTORY_COLUMNS = ['valid_from', 'valid_to', 'is_current', 'is_deleted'] as const;

/** A column of the change logs, and its name in the models. */
export interface ModelColumn extends TableColumn {
  readonly model: string;
}

/** A resource of the project. */
export interface DbtResource {
  readonly source: TableSource;
  readonly columns: readonly ModelColumn[];
  readonly key: readonly ModelColumn[];
  /** Checks of the snapshot, which become tests. */
  readonly checks: readonly CheckSettings[];
  /** Names of the project's parts. */
  readonly names: {
    readonly source: string;
    readonly changes: string;
    readonly latest: string;
    readonly staging: string;
    readonly history: string;
    readonly types: string;
  };
}

export function dbtResource(engine: Engine, connection: string, published: PublishedResource): DbtResource {
  const source = logSource(published, 'log');
  const aliased = columnsOf(engine, source);
  const models = columnAliases(
    aliased.map(({ alias }) => alias),
    { toName: (name) => name, reserved: HISTORY_COLUMNS },
  );
  const columns = aliased.map((column, at) => ({ ...column, model: models[at]! }));
  const [owner, name] = [viewName(connection), viewName(published.resource)];
  return {
    source,
    columns,
    key: keyColumns(source, columns) as ModelColumn[],
    checks: published.checks ?? [],
    names: {
      source: owner,
      changes: `${source.name}_text`,
      latest: `${source.name}_latest`,
      staging: `stg_${owner}__${name}`,
      history: `${owner}__${name}_history`,
      types: `${owner}__${name}_types`,
    },
  };
}
