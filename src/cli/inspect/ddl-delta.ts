import type { ConnectionSettings, ResourceSettings } from '../../core/settings.js';
import { readTableColumns, registerStatements } from '../../table/index.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { withLake } from '../shared/open-lake.js';
import { output } from '../shared/output.js';
import { printStatements } from '../shared/print-statements.js';
import { UsageError } from '../shared/usage-error.js';
import type { DdlCommandOptions } from './ddl.js';

interface TablesToRegister {
  readonly options: DdlCommandOptions;
  readonly connection: ConnectionSettings;
  readonly resources: readonly ResourceSettings[];
}

/**
 * `worktrack ddl --delta`: prints the statement that registers the Delta table of each resource. If no resource is named,
 * resources without a table are skipped with a note.
 */
export async function registerTables({
  options,
  connection,
  resources,
}: TablesToRegister): Promise<ExitCode> {
  const { lake, name, tables } = connection;
  checkOptions(options);
  if (tables === null)
    throw new UsageError(
      `connection ${name} has no Delta tables. Set \`tables: { format: delta }\`, restart the worker and export.`,
    );
  const found = await withLake(connection, ({ store, retry }) =>
    Promise.all(
      resources.map(async (resource) => ({
        resource: resource.name,
        columns: await retry(() => readTableColumns(store, resource.name)),
      })),
    ),
  );
  const missing = found.filter(({ columns }) => columns === null).map(({ resource }) => resource);
  if (missing.length > 0 && (options.resource !== undefined || missing.length === found.length))
    throw new UsageError(`${missing.join(', ')}: no Delta table in ${lake.url}. Run an export first.`);
  if (missing.length > 0) output.note(`Skipped: ${missing.join(', ')}, which has no Delta table yet.`);
  printStatements(() =>
    found.flatMap(({ resource, columns }) =>
      columns === null ? [] : registerStatements({ dialect: options.dialect, lake, resource, columns }),
    ),
  );
  output.note('Run these statements once. A registered table follows each published run.');
  return EXIT.done;
}

/** @throws UsageError for options that only views of the CSV files have */
function checkOptions({ dt, numbers }: DdlCommandOptions): void {
  if (dt !== undefined)
    throw new UsageError(
      'use either --delta or --dt. A Delta table has earlier days as versions, which the engine selects.',
    );
  if (numbers !== 'exact')
    throw new UsageError('use either --delta or --numbers. `tables.types` sets the types in a Delta table.');
}
