import { selectResources } from '../../config/index.js';
import type { UtcSeconds } from '../../core/brands.js';
import type { BackfillInput } from '../../core/contract/index.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { parseIsoTime } from '../../core/utc-time.js';
import { toUtcSeconds } from '../../lake/run/watermark.js';
import { startBackfill } from '../../temporal/client/start.js';
import type { ExitCode } from '../shared/exit-code.js';
import { isSeveral, type SeveralOptions } from '../shared/options.js';
import { chooseConnections, readSettings } from '../shared/settings.js';
import { UsageError } from '../shared/usage-error.js';
import { finish } from './export.js';
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
  if (options.since !== undefined && options.reconcile === true)
    throw new UsageError('--since and --reconcile exclude each other: only a full read can detect deletes');
  const since = options.since === undefined ? undefined : parseSince(options.since);
  if (isSeveral(options))
    return runSeveral({
      ...{ what: 'backfill', options, connections, resources: options.resource, source },
      start: (temporal, connection, start, together) =>
        startBackfill(temporal, { ...inputOf(connection, options, since), ...together }, start),
    });
  const [connection] = connections as [ConnectionSettings];
  const input = inputOf(connection, options, since);
  const followed = { what: 'backfill', options, connection, resources: input.resources, source } as const;
  const start: Start = (temporal, started) => startBackfill(temporal, input, started);
  if (options.wait === false) return startOnly(followed, start);
  return finish(await startAndFollow(followed, start), options, connection, 'backfill');
}

function inputOf(
  connection: ConnectionSettings,
  { resource, reconcile, allowDeletes }: BackfillOptions,
  since: UtcSeconds | undefined,
): BackfillInput {
  const resources = selectResources(connection, resource).map(({ name }) => name);
  return {
    connection: connection.name,
    ...(resource === undefined ? {} : { resources }),
    ...(since === undefined ? {} : { since }),
    ...(reconcile === true ? { reconcile } : {}),
    ...(allowDeletes === true ? { allowDeletes } : {}),
  };
}

/**
 * Parses a date (midnight UTC) or a time with its zone.
 *
 * @param now milliseconds since 1970
 * @throws UsageError, also for a time in the future, since which nothing can have changed
 */
export function parseSince(text: string, now: number = Date.now()): UtcSeconds {
  const at = parseIsoTime(text);
  if (at === null) {
    throw new UsageError(
      `--since ${JSON.stringify(text)} is not a valid time; write a date such as 2026-08-01, or a time with its zone such as 2026-08-01T12:00:00Z`,
    );
  }
  if (at > now)
    throw new UsageError(
      `--since ${JSON.stringify(text)} is in the future: it is now ${toUtcSeconds(now)}. Choose an earlier time.`,
    );
  return toUtcSeconds(at);
}
