import { hostname, userInfo } from 'node:os';
import { selectResources } from '../../config/index.js';
import type { ExportInput, ExportResult } from '../../core/contract/index.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { worldReadableWarnings } from '../../doctor/check-secrets.js';
import { startExport } from '../../temporal/client/start.js';
import { type ExitCode, exitCodeOf, UsageError } from '../shared/choose-exit-code.js';
import { isSeveral, type SeveralOptions } from '../shared/command-options.js';
import { withTemporal } from '../shared/context.js';
import { chooseConnections, readSettings } from '../shared/each-connection.js';
import { output, printJson } from '../shared/output.js';
import { readWait, type WaitOptions } from './follow-session.js';
import {
  detailedLines,
  diagnosticLines,
  publishedLines,
  whereLines,
  withConnection,
} from './result-lines.js';
import { runSeveral } from './several.js';
import { followToEnd, type Start, startAndFollow, startOnly } from './start-and-follow.js';

export interface ExportOptions extends SeveralOptions, WaitOptions {
  readonly resource?: readonly string[];
  readonly full?: boolean;
  readonly adopt?: boolean;
  readonly allowDeletes?: boolean;
  readonly acceptChecks?: boolean;
  readonly local?: boolean;
  readonly json?: boolean;
  /** The workflow id of a running export. */
  readonly follow?: string;
}

/** `worktrack export`: starts an export, or takes a running one, and follows it to its end. */
export async function runExport(options: ExportOptions): Promise<ExitCode> {
  const settings = readSettings(options);
  const connections = chooseConnections(settings, options);
  checkOptions(options);
  for (const warning of await worldReadableWarnings(connections)) output.note(warning);
  if (isSeveral(options))
    return runSeveral({
      ...{ what: 'export', options, connections, resources: options.resource },
      source: settings.source,
      start: (temporal, connection, start, together) =>
        startExport(temporal, { ...inputOf(options, connection), ...together }, start),
    });
  const [connection] = connections as [ConnectionSettings];
  const input = inputOf(options, connection);
  if (options.local === true) {
    const { runLocalExport } = await import('./local-export.js');
    return finish(await runLocalExport(options, settings, connection, input), options, connection);
  }
  const { source } = settings;
  const followed = { what: 'export', options, connection, resources: input.resources, source } as const;
  const { follow } = options;
  const start: Start = (temporal, started) => startExport(temporal, input, started);
  if (options.wait === false) return startOnly(followed, start);
  const result =
    follow === undefined
      ? await startAndFollow(followed, start)
      : await withTemporal(options, (temporal) => followToEnd(temporal, { ...followed, workflowId: follow }));
  return finish(result, options, connection);
}

/** @throws UsageError for options that exclude each other */
function checkOptions(options: ExportOptions): void {
  const { local, follow, wait, timeout } = options;
  if (local === true && follow !== undefined) throw new UsageError('--follow and --local exclude each other');
  if (follow !== undefined && wait === false)
    throw new UsageError('--follow and --no-wait exclude each other');
  if (local === true && (wait === false || timeout !== undefined))
    throw new UsageError(
      '--local needs the command until the export ends: leave out --no-wait and --timeout',
    );
  if (isSeveral(options) && (local === true || follow !== undefined))
    throw new UsageError('--local and --follow need one connection; choose it with --connection');
  readWait(options);
}

/** @throws ConfigurationError for a resource that the configuration does not have */
function inputOf(
  { resource, full, adopt, allowDeletes, acceptChecks }: ExportOptions,
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
    ...(acceptChecks === true ? { acceptChecks: currentUser() } : {}),
  };
}

/** The user of this command, such as `alice@laptop`. A container may have no name for its user. */
function currentUser(): string {
  try {
    return `${userInfo().username}@${hostname()}`;
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}@${hostname()}`;
  }
}

/** Prints the result of an export or backfill. */
export function finish(
  result: ExportResult,
  options: Pick<ExportOptions, 'json' | 'details'>,
  { name, lake }: ConnectionSettings,
  what = 'export',
): ExitCode {
  const { json, details } = options;
  if (json === true) printJson(withConnection(result, name));
  else {
    const lines = details === true ? detailedLines(result, lake.url) : publishedLines(result);
    for (const line of lines) output.out(line);
  }
  for (const line of diagnosticLines(result)) output.note(line);
  if (json !== true) for (const line of whereLines(result, lake.url)) output.note(line);
  if (result.outcome === 'cancelled') output.note(`The ${what} was cancelled. Published data stays.`);
  return exitCodeOf(result);
}
