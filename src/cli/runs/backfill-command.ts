import { selectResources } from '../../config/index.js';
import type { BackfillInput } from '../../core/contract/index.js';
import { InvalidArgumentError } from '../../core/errors.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { checkBackfill, startBackfill } from '../../temporal/client/start.js';
import { type ExitCode, UsageError } from '../shared/choose-exit-code.js';
import type { SeveralOptions } from '../shared/command-options.js';
import { chooseConnections, readSettings } from '../shared/each-connection.js';
import type { WaitOptions } from './follow-session.js';
import { type RunCommand, runOnConnections } from './start-and-follow.js';

interface BackfillOptions extends SeveralOptions, WaitOptions {
  readonly since?: string;
  readonly reconcile?: boolean;
  readonly adoptOrganization?: boolean;
  readonly allowDeletes?: boolean;
}

/** `worktrack backfill`: starts a backfill and follows it to its end. */
export async function runBackfill(options: BackfillOptions): Promise<ExitCode> {
  const settings = readSettings(options);
  const connections = chooseConnections(settings, options);
  const inputs = new Map(connections.map((connection) => [connection, inputOf(connection, options)]));
  const start: RunCommand['start'] = (temporal, connection, startOptions) =>
    startBackfill(temporal, inputs.get(connection)!, startOptions);
  const { source } = settings;
  return runOnConnections(
    { what: 'backfill', options, resources: options.resource, source, start },
    connections,
  );
}

/** @throws UsageError, also for a time in the future, since which nothing can have changed */
function inputOf(
  connection: ConnectionSettings,
  { resource, since, reconcile, adoptOrganization, allowDeletes }: BackfillOptions,
): BackfillInput {
  const resources = selectResources(connection, resource).map(({ name }) => name);
  const input = {
    connection: connection.name,
    ...(resource === undefined ? {} : { resources }),
    ...(since === undefined ? {} : { since }),
    ...(reconcile === true ? { reconcile } : {}),
    ...(adoptOrganization === true ? { adoptOrganization } : {}),
    ...(allowDeletes === true ? { allowDeletes } : {}),
  };
  try {
    return checkBackfill(input);
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw new UsageError(`--${error.describe()}`);
    throw error;
  }
}
