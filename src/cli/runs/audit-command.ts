import { selectResources } from '../../config/index.js';
import type { AuditInput, ExportResult } from '../../core/contract/index.js';
import { readShare } from '../../core/schema/readers.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { startAudit, startExport } from '../../temporal/client/start.js';
import { type ExitCode, UsageError } from '../shared/choose-exit-code.js';
import { isSeveral, parsed, positive, type SeveralOptions } from '../shared/command-options.js';
import { withTemporal } from '../shared/context.js';
import { chooseConnections, readSettings } from '../shared/each-connection.js';
import { output } from '../shared/output.js';
import { checkDiff, type DiffOptions, diffPrinter, readLimit } from './diff-options.js';
import type { WaitOptions } from './follow-session.js';
import { localFollower } from './local-follower.js';
import { type RunCommand, runOnConnections } from './start-and-follow.js';

interface AuditOptions extends SeveralOptions, WaitOptions, DiffOptions {
  readonly sample?: string;
  readonly maxRequests?: string;
  readonly repair?: boolean;
  readonly local?: boolean;
}

/** `worktrack audit`: compares the published snapshots with the service, and follows the audit to its end. */
export async function runAudit(options: AuditOptions): Promise<ExitCode> {
  const settings = readSettings(options);
  const connections = chooseConnections(settings, options);
  checkDiff(options);
  checkOptions(options);
  const { repair, resource, diff, local } = options;
  const audit = auditOf(options);
  const start: RunCommand['start'] = (temporal, connection, startOptions) =>
    startAudit(temporal, { ...audit, ...resourcesOf(connection, resource) }, startOptions);
  const print = diff === true ? diffPrinter(options, 'differ') : async (result: ExportResult) => result;
  const first: RunCommand['first'] = async (result, connection) => {
    const shown = await print(result, connection);
    return repair === true ? { ...shown, ...(await requestRepair(shown, connection, options)) } : shown;
  };
  const { cells, ...compared } = audit;
  const dryRun = { audit: compared, ...(cells !== undefined && { cells }) };
  const follower =
    local === true
      ? localFollower(options, settings, (one) => ({ ...resourcesOf(one, resource), dryRun }))
      : undefined;
  const { source } = settings;
  const run = { what: 'audit', options, resources: resource, source, start, follower, first } as const;
  return runOnConnections(run, connections);
}

/** @throws UsageError for options that exclude each other */
function checkOptions(options: AuditOptions): void {
  const { wait, timeout, repair, local } = options;
  if ((repair === true || local === true) && (wait === false || timeout !== undefined))
    throw new UsageError(
      '--repair and --local need the command until the audit ends: leave out --no-wait and --timeout',
    );
  if (local === true && (repair === true || isSeveral(options)))
    throw new UsageError('--local needs one connection, and no --repair');
}

/** @throws UsageError */
function auditOf({ sample, maxRequests, diff, limit }: AuditOptions): Omit<AuditInput, 'connection'> {
  const share = sample === undefined ? 1 : parsed('--sample', sample, readShare);
  return {
    ...(share < 1 && { sample: share }),
    ...(maxRequests !== undefined && { maxRequests: positive('--max-requests', maxRequests) }),
    ...(diff === true && { cells: readLimit(limit) }),
  };
}

/** @throws ConfigurationError for a resource that the configuration does not have */
function resourcesOf(
  connection: ConnectionSettings,
  wanted: readonly string[] | undefined,
): Pick<AuditInput, 'connection' | 'resources'> {
  const resources = selectResources(connection, wanted).map(({ name }) => name);
  return { connection: connection.name, ...(wanted && { resources }) };
}

/** Requests a full read of the resources that differ, and says what it would leave as it is. */
async function requestRepair(
  { runs }: ExportResult,
  connection: ConnectionSettings,
  options: AuditOptions,
): Promise<Pick<ExportResult, 'repair'>> {
  const differing = runs.filter(({ outcome }) => outcome === 'different');
  if (differing.length === 0) return {};
  const resources = differing.map(({ resource }) => resource);
  for (const { resource, audit } of differing)
    if (audit !== undefined && audit.keptNewer > 0)
      output.note(
        `warning: ${resource}: a full read leaves ${audit.keptNewer} different rows as they are, because their "updated at" is later than in the service`,
      );
  const input = { connection: connection.name, resources, reconcile: true };
  const repair = await withTemporal(options, (temporal) =>
    startExport(temporal, input, { taskQueue: options.taskQueue }),
  );
  output.note(`To repair ${resources.join(', ')}, a full read has begun: ${repair}`);
  return { repair };
}
