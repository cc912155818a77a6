import { selectConnection, selectResources } from '../config/index.js';
import type { UtcSeconds } from '../core/brands.js';
import type { BackfillInput } from '../core/contract.js';
import { toUtcSeconds } from '../lake/watermark.js';
import { startBackfill } from '../temporal/start.js';
import { readSettings } from './context.js';
import type { ExitCode } from './exit-code.js';
import { finish } from './export.js';
import type { GlobalOptions } from './options.js';
import { startAndFollow } from './start-and-follow.js';
import { UsageError } from './usage-error.js';

export interface BackfillOptions extends GlobalOptions {
  readonly resource?: readonly string[];
  readonly since?: string;
  readonly reconcile?: boolean;
  readonly allowDeletes?: boolean;
  readonly json?: boolean;
}

/** `worktrack backfill`: reads again, and follows it to its end. */
export async function runBackfill(options: BackfillOptions): Promise<ExitCode> {
  const connection = selectConnection(readSettings(options), options.connection);
  const { resource, since, reconcile, allowDeletes } = options;
  const resources = selectResources(connection, resource).map(({ name }) => name);
  if (since !== undefined && reconcile === true)
    throw new UsageError(
      '--since and --reconcile do not go together: deletes show only when everything is read',
    );
  const input: BackfillInput = {
    connection: connection.name,
    ...(resource === undefined ? {} : { resources }),
    ...(since === undefined ? {} : { since: parseSince(since) }),
    ...(reconcile === true ? { reconcile } : {}),
    ...(allowDeletes === true ? { allowDeletes } : {}),
  };
  const followed = { what: 'backfill', options, connection, resources: input.resources } as const;
  const result = await startAndFollow(followed, (temporal, start) => startBackfill(temporal, input, start));
  return finish(result, options, connection, 'backfill');
}

/** A date means its first moment in UTC; a time needs its zone. */
export function parseSince(text: string): UtcSeconds {
  const date = /^\d{4}-\d\d-\d\d$/.test(text);
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/.test(text);
  const at = date || time ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) {
    throw new UsageError(
      `--since ${JSON.stringify(text)} is no time; write a date like 2026-08-01, or a time with its zone like 2026-08-01T12:00:00Z`,
    );
  }
  return toUtcSeconds(at);
}
