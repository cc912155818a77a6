import { selectResources } from '../config/index.js';
import { isRunId } from '../lake/run-id.js';
import { startRollback } from '../temporal/start.js';
import { readConnection } from './context.js';
import { type ExitCode, exitCodeOf } from './exit-code.js';
import type { GlobalOptions } from './options.js';
import { output, printJson } from './output.js';
import { troubleLines } from './report.js';
import { startAndFollow } from './start-and-follow.js';
import { counted } from './text.js';
import { UsageError } from './usage-error.js';

export interface RollbackOptions extends GlobalOptions {
  readonly resource: string;
  readonly to: string;
  readonly json?: boolean;
}

/** `worktrack rollback`: lets `latest.json` name an earlier published run. */
export async function runRollback(options: RollbackOptions): Promise<ExitCode> {
  const connection = readConnection(options);
  const { resource, to } = options;
  selectResources(connection, [resource]);
  if (!isRunId(to))
    throw new UsageError(`--to ${JSON.stringify(to)} is no run id; they look like 20261121T020000Z-1a2b3c4d`);
  const input = { connection: connection.name, resource, to };
  const followed = { what: 'rollback', options, connection, resources: [resource] } as const;
  const result = await startAndFollow(followed, (temporal, start) => startRollback(temporal, input, start));
  if (options.json === true) printJson(result);
  else if (result.outcome === 'published') {
    const rows = counted(result.runs[0]?.rows ?? 0, 'row');
    output.out(
      `${resource}: latest.json names run ${to}, ${rows}; the next increment starts from that run's checkpoint`,
    );
  }
  for (const line of troubleLines(result)) output.note(line);
  return exitCodeOf(result);
}
