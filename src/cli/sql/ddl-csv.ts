import { selectResources } from '../../config/index.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { viewName } from '../../core/view-name.js';
import { operationStatements, operationsIn } from '../../sql/ddl/operations.js';
import { publishedResource } from '../../sql/ddl/published-sources.js';
import {
  type DdlInput,
  DIALECTS,
  type Dialect,
  ddlStatements,
  type Numbers,
  type Statement,
  unreadableViews,
} from '../../sql/ddl/statements.js';
import type { DeltaDialect } from '../../sql/register-tables.js';
import { orUsageError, UsageError } from '../shared/choose-exit-code.js';
import type { SeveralOptions } from '../shared/command-options.js';
import { withLake } from '../shared/open-lake.js';
import { output, withoutNameBreaks } from '../shared/output.js';
import { skipUnpublished, snapshotsOf } from '../shared/published-resources.js';

/**
 * The statements of `worktrack ddl` for the CSV files of a connection. If no resource is named, resources without a
 * published snapshot are skipped with a note.
 */
export async function csvStatements(
  connection: ConnectionSettings,
  { resource: wanted, dialect: engine, numbers, text, newest, operations }: DdlCommandOptions,
  { dt, timeoutMs, isPrefixed = false }: DdlScope,
): Promise<ConnectionDdl> {
  const dialect = csvDialect(engine);
  if (newest === true && dt !== undefined)
    throw new UsageError('use either --newest or --dt: the newest rows are those of the last published run.');
  if (operations === true && dialect !== 'duckdb')
    throw new UsageError(
      `use --operations with --dialect duckdb: ${dialect} skips files whose names begin with "_".`,
    );
  const resources = selectResources(connection, wanted);
  const { found, missing, incomplete } = await withLake(
    connection,
    (lake) => snapshotsOf(lake, resources, dt),
    timeoutMs,
  );
  if (missing.length > 0 && wanted !== undefined) throw missing[0];
  skipUnpublished({ found, missing });
  const inputs = found.map(([resource, published]): DdlInput => {
    const snapshot = { ...published, manifest: forOutput(published.manifest) };
    const views: Pick<DdlInput, 'views' | 'days'> =
      dt === undefined
        ? { views: ['current', 'changes', ...(newest === true ? ['newest' as const] : [])] }
        : { views: ['days'], days: [snapshot] };
    const input = {
      ...{
        dialect,
        numbers,
        text,
        lake: connection.lake,
        ...publishedResource(resource, snapshot),
        ...views,
      },
      ...(isPrefixed ? { view: prefixedView(connection.name, resource.name) } : {}),
    };
    return withReadableViews(incomplete.has(resource.name) ? withoutNewest(input) : input);
  });
  const views = inputs.flatMap((input) => orUsageError(() => ddlStatements(input)));
  const more = operations === true ? await viewsOfOperations(connection, isPrefixed, timeoutMs) : [];
  return { resources: inputs.length, statements: [...views, ...more] };
}

async function viewsOfOperations(
  connection: ConnectionSettings,
  isPrefixed: boolean,
  timeoutMs: number | undefined,
): Promise<Statement[]> {
  const found = await withLake(connection, ({ store, retry }) => retry(() => operationsIn(store)), timeoutMs);
  const named = isPrefixed ? (name: string) => viewName(prefixedView(connection.name, name)) : undefined;
  return operationStatements(connection.lake, found, named);
}

/** Columns as statements name them: on a terminal, a name cannot begin a line. Elsewhere, the statements are run. */
export function forOutput<Named extends { readonly columns: readonly { readonly name: string }[] }>(
  described: Named,
): Named {
  return process.stdout.isTTY ? { ...described, columns: withoutNameBreaks(described.columns) } : described;
}

/** If the change logs are not those of the chain, the newest rows are not those of the snapshot. */
function withoutNewest(input: DdlInput): DdlInput {
  if (input.views?.includes('newest') !== true) return input;
  output.note(
    `${input.resource}: left out the view that ends in _newest, because its rows would differ from the snapshot.`,
  );
  return { ...input, views: input.views?.filter((view) => view !== 'newest') };
}

/** @throws UsageError for an engine that reads only tables */
function csvDialect(dialect: DeltaDialect): Dialect {
  const found = DIALECTS.find((one) => one === dialect);
  if (found !== undefined) return found;
  throw new UsageError(
    `--dialect ${dialect} reads only Delta tables. Add --delta, or use one of ${DIALECTS.join(', ')}.`,
  );
}

/** Leaves out the views of the change logs if the engine cannot read these, but can read the snapshot. */
function withReadableViews(input: DdlInput): DdlInput {
  const unreadable = unreadableViews(input);
  const readable = input.views?.filter((view) => !unreadable.includes(view)) ?? [];
  if (unreadable.includes('current') || readable.length === input.views?.length) return input;
  output.note(
    `${input.resource}: left out the views of the change logs. These have ${input.manifest.changesLineBreaks} line breaks inside ` +
      `cells, which ${input.dialect} cannot read. A new lake URL with \`csv: { lineBreaks: escape }\` starts without them.`,
  );
  return { ...input, views: readable };
}

export interface DdlCommandOptions extends SeveralOptions {
  readonly dialect: DeltaDialect;
  readonly delta?: boolean;
  readonly numbers: Numbers;
  readonly dt?: string;
  readonly setup?: boolean;
  /** Whether each view also exists as text. */
  readonly text?: boolean;
  /** Whether there is a view of the newest rows in the change logs. */
  readonly newest?: boolean;
  /** Whether there are views of runs, checks, changes of columns, receipts and audits. */
  readonly operations?: boolean;
}

export interface DdlScope {
  readonly dt: string | undefined;
  readonly timeoutMs?: number | undefined;
  /** Names of views and tables begin with the connection. */
  readonly isPrefixed?: boolean;
}

export interface ConnectionDdl {
  /** Number of resources that they read. */
  readonly resources: number;
  readonly statements: readonly Statement[];
}

/** Name of the views or table of a resource, before it is made plain. */
export function prefixedView(connection: string, resource: string): string {
  return `${connection}_${resource}`;
}
