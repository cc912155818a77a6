import { selectConnection, selectResources } from '../config/index.js';
import type { ExportInput, ExportResult } from '../core/contract.js';
import type { ConnectionSettings } from '../core/settings.js';
import { startExport } from '../temporal/start.js';
import { readSettings, withTemporal } from './context.js';
import { type ExitCode, exitCodeOf } from './exit-code.js';
import { followToEnd } from './follow.js';
import { warnOfOpenKeys } from './key-warnings.js';
import type { GlobalOptions } from './options.js';
import { output, printJson } from './output.js';
import { publishedLines, troubleLines } from './report.js';
import { startAndFollow } from './start-and-follow.js';
import { UsageError } from './usage-error.js';

export interface ExportOptions extends GlobalOptions {
  readonly resource?: readonly string[];
  readonly full?: boolean;
  readonly adopt?: boolean;
  readonly allowDeletes?: boolean;
  readonly local?: boolean;
  readonly json?: boolean;
  /** The workflow id of an export that goes on already. */
  readonly follow?: string;
}

/** `worktrack export`: starts an export, or takes up one that is going on, and follows it to its end. */
export async function runExport(options: ExportOptions): Promise<ExitCode> {
  const settings = readSettings(options);
  const connection = selectConnection(settings, options.connection);
  const input = inputOf(options, connection);
  await warnOfOpenKeys([connection]);
  if (options.local === true) {
    if (options.follow !== undefined) throw new UsageError('--follow and --local do not go together');
    const { runLocalExport } = await import('./local.js');
    return finish(await runLocalExport(options, settings, connection, input), options, connection);
  }
  const followed = { what: 'export', options, connection, resources: input.resources } as const;
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
    // Without names the worker's configuration decides, which may be newer than ours.
    ...(resource === undefined ? {} : { resources }),
    ...(full === true ? { full } : {}),
    ...(adopt === true ? { adopt } : {}),
    ...(allowDeletes === true ? { allowDeletes } : {}),
  };
}

/** Prints what became of an export or of what is like one. */
export function finish(
  result: ExportResult,
  { json }: Pick<ExportOptions, 'json'>,
  { lake }: ConnectionSettings,
  what = 'export',
): ExitCode {
  if (json === true) printJson(result);
  else for (const line of publishedLines(result, lake.url)) output.out(line);
  for (const line of troubleLines(result)) output.note(line);
  if (result.outcome === 'cancelled')
    output.note(`The ${what} was cancelled; what was published before it stays.`);
  return exitCodeOf(result);
}
