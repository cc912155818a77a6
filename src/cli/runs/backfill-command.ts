import { selectResources } from '../../config/index.js';
import type { BackfillInput } from '../../core/contract/index.js';
import { InvalidArgumentError } from '../../core/errors.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { checkBackfill, startBackfill } from '../../temporal/client/start.js';
import { type ExitCode, UsageError } from '../shared/choose-exit-code.js';
import { isSeveral, type SeveralOptions } from '../shared/command-options.js';
import { chooseConnections, readSettings } from '../shared/each-connection.js';
import { finish } from './export-command.js';
import type { WaitOptions } from './follow-session.js';
import { runSeveral } from './several.js';
import { type Start, startAndFollow, startOnly } from './start-and-follow.js';

export interface BackfillOptions extends SeveralOptions, WaitOptions {
  readonly resource?: readonly string[];
  readonly since?: string;
  readonly reconcile?: boolean;
  readonly allowDeletes?: boolean;
  readonly json?: boolean;
}

/** `worktrack backfill`: starts a backfill and follows it to its end. */
export async function runBackfill(options: BackfillOptions): Promise<ExitCode> {
  const settings = readSettings(options);
  const connections = chooseConnections(settings, options);
  const { source } = settings;
  const inputs = new Map(connections.map((connection) => [connection, inputOf(connection, options)]));
  if (isSeveral(options))
    return runSeveral({
      ...{ what: 'backfill', options, connections, resources: options.resource, source },
      start: (temporal, connection, start, together) =>
        startBackfill(temporal, { ...inputs.get(connection)!, ...together }, start),
    });
  const [connection] = connections as [ConnectionSettings];
  const input = inputs.get(connection)!;
  const followed = { what: 'backfill', options, connection, resources: input.resources, source } as const;
  const start: Start = (temporal, started) => startBackfill(temporal, input, started);
  if (options.wait === false) return startOnly(followed, start);
  return finish(await startAndFollow(followed, start), options, connection, 'backfill');
}

/** @throws UsageError, also for a time in the future, since which nothing can have changed */
function inputOf(
  connection: ConnectionSettings,
  { resource, since, reconcile, allowDeletes }: BackfillOptions,
): BackfillInput {
  const resources = selectResources(connection, resource).map(({ name }) => name);
  const input = {
    connection: connection.name,
    ...(resource === undefined ? {} : { resources }),
    ...(since === undefined ? {} : { since }),
    ...(reconcile === true ? { reconcile } : {}),
    ...(allowDeletes === true ? { allowDeletes } : {}),
  };
  try {
    return checkBackfill(input);
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw new UsageError(`--${error.describe()}`);
    throw error;
  }
}
