import { selectResources } from '../config/index.js';
import { startPurge } from '../temporal/start.js';
import { readConnection } from './context.js';
import { type ExitCode, exitCodeOf } from './exit-code.js';
import type { GlobalOptions } from './options.js';
import { output, printJson } from './output.js';
import { troubleLines } from './report.js';
import { startAndFollow } from './start-and-follow.js';
import { counted } from './text.js';
import { UsageError } from './usage-error.js';

export interface PurgeOptions extends GlobalOptions {
  readonly resource: string;
  /** Values of the key's fields, in their order. */
  readonly key: readonly string[];
  readonly json?: boolean;
}

/** `worktrack purge`: removes one record from all snapshots and change logs of a resource. */
export async function runPurge(options: PurgeOptions): Promise<ExitCode> {
  const connection = readConnection(options);
  const { resource, key } = options;
  const [settings] = selectResources(connection, [resource]);
  if (settings !== undefined && settings.key.length !== key.length) {
    throw new UsageError(
      `the key of ${resource} is ${settings.key.join(', ')}: give one --key for each, in that order (${key.length} given)`,
    );
  }
  const input = { connection: connection.name, resource, key };
  const followed = { what: 'purge', options, connection, resources: [resource] } as const;
  const result = await startAndFollow(followed, (temporal, start) => startPurge(temporal, input, start));
  if (options.json === true) printJson(result);
  else for (const line of purgedLines(result.runs[0]?.purged ?? null, resource)) output.out(line);
  for (const line of troubleLines(result)) output.note(line);
  return exitCodeOf(result);
}

function purgedLines(purged: { snapshots: number; changeLogs: number } | null, resource: string): string[] {
  if (purged === null) return [];
  if (purged.snapshots + purged.changeLogs === 0)
    return [`${resource}: no snapshot and no change log has such a record`];
  return [
    `${resource}: removed from ${counted(purged.snapshots, 'snapshot')} and ${counted(purged.changeLogs, 'change log')}`,
    'While the service still has the record, the next full pass brings it back.',
  ];
}
