import { selectConnection, selectResources } from '../../config/index.js';
import type { UtcSeconds } from '../../core/brands.js';
import type { BackfillInput } from '../../core/contract/index.js';
import { parseIsoTime } from '../../core/utc-time.js';
import { toUtcSeconds } from '../../lake/run/watermark.js';
import { startBackfill } from '../../temporal/client/start.js';
import type { ExitCode } from '../shared/exit-code.js';
import type { GlobalOptions } from '../shared/options.js';
import { readSettings } from '../shared/settings.js';
import { UsageError } from '../shared/usage-error.js';
import { finish } from './export.js';
import { startAndFollow } from './start-and-follow.js';

export interface BackfillOptions extends GlobalOptions {
  readonly resource?: readonly string[];
  readonly since?: string;
  readonly reconcile?: boolean;
  readonly allowDeletes?: boolean;
  readonly json?: boolean;
}

/** `worktrack backfill`: starts a backfill and follows it to its end. */
export async function runBackfill(options: BackfillOptions): Promise<ExitCode> {
  const settings = readSettings(options);
  const connection = selectConnection(settings, options.connection);
  const { resource, since, reconcile, allowDeletes } = options;
  const resources = selectResources(connection, resource).map(({ name }) => name);
  if (since !== undefined && reconcile === true)
    throw new UsageError('--since and --reconcile exclude each other: only a full read can detect deletes');
  const input: BackfillInput = {
    connection: connection.name,
    ...(resource === undefined ? {} : { resources }),
    ...(since === undefined ? {} : { since: parseSince(since) }),
    ...(reconcile === true ? { reconcile } : {}),
    ...(allowDeletes === true ? { allowDeletes } : {}),
  };
  const followed = {
    what: 'backfill',
    options,
    connection,
    resources: input.resources,
    source: settings.source,
  } as const;
  const result = await startAndFollow(followed, (temporal, start) => startBackfill(temporal, input, start));
  return finish(result, options, connection, 'backfill');
}

/** Parses a date (midnight UTC) or a time with its zone. @throws UsageError */
export function parseSince(text: string): UtcSeconds {
  const at = parseIsoTime(text);
  if (at === null) {
    throw new UsageError(
      `--since ${JSON.stringify(text)} is not a valid time; write a date such as 2026-08-01, or a time with its zone such as 2026-08-01T12:00:00Z`,
    );
  }
  return toUtcSeconds(at);
}
