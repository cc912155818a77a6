import { selectConnection, selectResources } from '../../config/index.js';
import type { ExportInput, ExportResult } from '../../core/contract/index.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { worldReadableWarnings } from '../../doctor/secret.js';
import { startExport } from '../../temporal/client/start.js';
import { withTemporal } from '../shared/context.js';
import { type ExitCode, exitCodeOf } from '../shared/exit-code.js';
import type { GlobalOptions } from '../shared/options.js';
import { output, printJson } from '../shared/output.js';
import { readSettings } from '../shared/settings.js';
import { UsageError } from '../shared/usage-error.js';
import { followToEnd } from './follow.js';
import { diagnosticLines, publishedLines } from './result-lines.js';
import { startAndFollow } from './start-and-follow.js';

export interface ExportOptions extends GlobalOptions {
  readonly resource?: readonly string[];
  readonly full?: boolean;
  readonly adopt?: boolean;
  readonly allowDeletes?: boolean;
  readonly local?: boolean;
  readonly json?: boolean;
  /** The workflow id of a running export. */
  readonly follow?: string;
}

/** `worktrack export`: starts an export, or takes a running one, and follows it to its end. */
export async function runExport(options: ExportOptions): Promise<ExitCode> {
  const settings = readSettings(options);
  const connection = selectConnection(settings, options.connection);
  const input = inputOf(options, connection);
  for (const warning of await worldReadableWarnings([connection])) output.note(warning);
  if (options.local === true) {
    if (options.follow !== undefined) throw new UsageError('--follow and --local exclude each other');
    const { runLocalExport } = await import('../local/local.js');
    return finish(await runLocalExport(options, settings, connection, input), options, connection);
  }
  const { source } = settings;
  const followed = { what: 'export', options, connection, resources: input.resources, source } as const;
  const { follow } = options;
  const result =
    follow === undefined
      ? await startAndFollow(followed, (temporal, start) => startExport(temporal, input, start))
      : await withTemporal(options, (temporal) => followToEnd(temporal, { ...followed, workflowId: follow }));
  return finish(result, options, connection);
}

/** @throws ConfigurationError for a resource that the configuration does not have */
function inputOf(
  { resource, full, adopt, allowDeletes }: ExportOptions,
  connection: ConnectionSettings,
): ExportInput {
  const resources = selectResources(connection, resource).map(({ name }) => name);
  return {
    connection: connection.name,
    // Without names, the worker's configuration decides; it may be newer than the one read here.
    ...(resource === undefined ? {} : { resources }),
    ...(full === true ? { full } : {}),
    ...(adopt === true ? { adopt } : {}),
    ...(allowDeletes === true ? { allowDeletes } : {}),
  };
}

/** Prints the result of an export or backfill. */
export function finish(
  result: ExportResult,
  { json }: Pick<ExportOptions, 'json'>,
  { lake }: ConnectionSettings,
  what = 'export',
): ExitCode {
  if (json === true) printJson(result);
  else for (const line of publishedLines(result, lake.url)) output.out(line);
  for (const line of diagnosticLines(result)) output.note(line);
  if (result.outcome === 'cancelled') output.note(`The ${what} was cancelled. Published data stays.`);
  return exitCodeOf(result);
}
