import { hostname, userInfo } from 'node:os';
import { configDigest, selectResources } from '../../config/index.js';
import type { ExportInput } from '../../core/contract/index.js';
import { rowSettingsOf } from '../../core/row-settings.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { worldReadableWarnings } from '../../doctor/check-secrets.js';
import { startExport } from '../../temporal/client/start.js';
import { type ExitCode, UsageError } from '../shared/choose-exit-code.js';
import { isSeveral, type SeveralOptions } from '../shared/command-options.js';
import { withTemporal } from '../shared/context.js';
import { chooseConnections, readSettings } from '../shared/each-connection.js';
import { output } from '../shared/output.js';
import { checkDiff, type DiffOptions, diffPrinter, readLimit } from './diff-options.js';
import { readWait, type WaitOptions } from './follow-session.js';
import { localFollower } from './local-follower.js';
import { followToEnd, type RunCommand, runOnConnections } from './start-and-follow.js';

interface ExportOptions extends SeveralOptions, WaitOptions, DiffOptions {
  readonly full?: boolean;
  readonly reconcile?: boolean;
  readonly dryRun?: boolean;
  readonly adopt?: boolean;
  readonly adoptOrganization?: boolean;
  readonly allowDeletes?: boolean;
  readonly acceptChecks?: boolean;
  readonly local?: boolean;
  /** The workflow id of a running export. */
  readonly follow?: string;
}

/** `worktrack export`: starts an export, or takes a running one, and follows it to its end. */
export async function runExport(options: ExportOptions): Promise<ExitCode> {
  const settings = readSettings(options);
  const connections = chooseConnections(settings, options);
  checkOptions(options);
  for (const warning of await worldReadableWarnings(connections)) output.note(warning);
  const common = { options, resources: options.resource };
  const run =
    options.dryRun === true
      ? ({ ...common, what: 'dry-run', first: diffPrinter(options, 'would change') } as const)
      : ({ ...common, what: 'export', source: settings.source } as const);
  const { local, follow } = options;
  const start: RunCommand['start'] = (temporal, connection, startOptions) =>
    startExport(temporal, inputOf(options, connection), startOptions);
  const follower: RunCommand['follower'] =
    follow !== undefined
      ? (connection) =>
          withTemporal(options, (temporal) =>
            followToEnd(temporal, { ...run, connection, workflowId: follow }),
          )
      : local === true
        ? localFollower(options, settings, (connection) => inputOf(options, connection))
        : undefined;
  return runOnConnections({ ...run, start, follower }, connections);
}

/** @throws UsageError for options that exclude each other */
function checkOptions(options: ExportOptions): void {
  const { dryRun, diff, local, follow, wait, timeout } = options;
  if (dryRun === true && diff !== true && follow !== undefined)
    throw new UsageError('--dry-run and --follow exclude each other');
  if (diff === true && dryRun !== true) throw new UsageError('--diff needs --dry-run');
  checkDiff(options);
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

/** What a dry run is asked for. A worker of this command has its configuration. */
function dryRunOf(
  { dryRun, diff, limit, local }: ExportOptions,
  connection: ConnectionSettings,
): Pick<ExportInput, 'dryRun'> {
  if (dryRun !== true) return {};
  const cells = diff === true ? { cells: readLimit(limit) } : {};
  const preview = { digest: configDigest(connection), settings: rowSettingsOf(connection) };
  return { dryRun: { ...cells, ...(local === true ? {} : { preview }) } };
}

/** @throws ConfigurationError for a resource that the configuration does not have */
function inputOf(options: ExportOptions, connection: ConnectionSettings): ExportInput {
  const { resource, full, reconcile, adopt, adoptOrganization, allowDeletes, acceptChecks } = options;
  const resources = selectResources(connection, resource).map(({ name }) => name);
  return {
    connection: connection.name,
    // Without names, the worker's configuration decides; it may be newer than the one read here.
    ...(resource === undefined ? {} : { resources }),
    ...(full === true ? { full } : {}),
    ...(reconcile === true ? { reconcile } : {}),
    ...dryRunOf(options, connection),
    ...(adopt === true ? { adopt } : {}),
    ...(adoptOrganization === true ? { adoptOrganization } : {}),
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
