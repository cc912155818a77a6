import { selectResources } from '../../config/index.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { registerStatements } from '../../sql/register-tables.js';
import { readTableColumns } from '../../table/index.js';
import { orUsageError, UsageError } from '../shared/choose-exit-code.js';
import { withLake } from '../shared/open-lake.js';
import { output } from '../shared/output.js';
import {
  type ConnectionDdl,
  type DdlCommandOptions,
  type DdlScope,
  forOutput,
  prefixedView,
} from './ddl-csv.js';

/**
 * The statements of `worktrack ddl --delta`, which register the Delta table of each resource. If no resource is named,
 * resources without a table are skipped with a note.
 */
export async function tableStatements(
  connection: ConnectionSettings,
  options: DdlCommandOptions,
  { timeoutMs, isPrefixed = false }: DdlScope,
): Promise<ConnectionDdl> {
  checkOptions(options);
  const { lake, name, tables } = connection;
  if (tables === null)
    throw new UsageError(
      `connection ${name} has no Delta tables. Set \`tables: { format: delta }\`, reload or restart the worker, and export.`,
    );
  const resources = selectResources(connection, options.resource);
  const found = await withLake(
    connection,
    ({ store, retry }) =>
      Promise.all(
        resources.map(async (resource) => ({
          resource: resource.name,
          columns: await retry(() => readTableColumns(store, resource.name, tables)),
        })),
      ),
    timeoutMs,
  );
  const missing = found.filter(({ columns }) => columns === null).map(({ resource }) => resource);
  if (missing.length > 0 && (options.resource !== undefined || missing.length === found.length))
    throw new UsageError(`${missing.join(', ')}: no Delta table in ${lake.url}. Run an export first.`);
  if (missing.length > 0) output.note(`Skipped: ${missing.join(', ')}, which has no Delta table yet.`);
  const { dialect } = options;
  const statements = found.flatMap(({ resource, columns: known }) => {
    if (known === null) return [];
    const { columns } = forOutput({ columns: known });
    const table = isPrefixed ? { table: prefixedView(name, resource) } : {};
    return orUsageError(() => registerStatements({ dialect, lake, resource, columns, ...table }));
  });
  return { resources: found.length - missing.length, statements };
}

/** @throws UsageError for options that only views of the CSV files have */
function checkOptions({ dt, numbers, text, newest, operations }: DdlCommandOptions): void {
  if (text === true || newest === true || operations === true)
    throw new UsageError(
      `use either --delta or --${text === true ? 'text' : newest === true ? 'newest' : 'operations'}. A Delta table has no views.`,
    );
  if (dt !== undefined)
    throw new UsageError(
      'use either --delta or --dt. A Delta table has earlier days as versions, which the engine selects.',
    );
  if (numbers !== 'exact')
    throw new UsageError('use either --delta or --numbers. `tables.types` sets the types in a Delta table.');
}
