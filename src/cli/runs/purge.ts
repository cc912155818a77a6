import { selectResources } from '../../config/index.js';
import { startPurge } from '../../temporal/client/start.js';
import { type ExitCode, exitCodeOf } from '../shared/exit-code.js';
import type { GlobalOptions } from '../shared/options.js';
import { output, printJson } from '../shared/output.js';
import { readConnection } from '../shared/settings.js';
import { counted } from '../shared/text.js';
import { UsageError } from '../shared/usage-error.js';
import { diagnosticLines } from './result-lines.js';
import { startAndFollow } from './start-and-follow.js';

export interface PurgeOptions extends GlobalOptions {
  readonly resource: string;
  /** One value per key field, in the configured order. */
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
      `the key of ${resource} is ${settings.key.join(', ')}: pass one --key for each field, in this order (found ${key.length})`,
    );
  }
  const input = { connection: connection.name, resource, key };
  const followed = { what: 'purge', options, connection, resources: [resource] } as const;
  const result = await startAndFollow(followed, (temporal, start) => startPurge(temporal, input, start));
  if (options.json === true) printJson(result);
  else for (const line of purgedLines(result.runs[0]?.purged ?? null, resource)) output.out(line);
  for (const line of diagnosticLines(result)) output.note(line);
  return exitCodeOf(result);
}

function purgedLines(purged: { snapshots: number; changeLogs: number } | null, resource: string): string[] {
  if (purged === null) return [];
  if (purged.snapshots + purged.changeLogs === 0)
    return [`${resource}: no snapshot or change log contains this record`];
  return [
    `${resource}: removed from ${counted(purged.snapshots, 'snapshot')} and ${counted(purged.changeLogs, 'change log')}`,
    'If the service still has the record, the next full read adds it again.',
  ];
}
