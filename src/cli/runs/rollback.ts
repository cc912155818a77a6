import { selectResources } from '../../config/index.js';
import type { RunReport } from '../../core/contract/index.js';
import { isRunId } from '../../core/run-id.js';
import { startRollback } from '../../temporal/client/start.js';
import { type ExitCode, exitCodeOf } from '../shared/exit-code.js';
import type { GlobalOptions } from '../shared/options.js';
import { output, printJson } from '../shared/output.js';
import { readConnection } from '../shared/settings.js';
import { counted } from '../shared/text.js';
import { UsageError } from '../shared/usage-error.js';
import { diagnosticLines } from './result-lines.js';
import { startAndFollow } from './start-and-follow.js';

export interface RollbackOptions extends GlobalOptions {
  readonly resource: string;
  readonly to: string;
  readonly json?: boolean;
}

/** `worktrack rollback`: points `latest.json` at an earlier published run. */
export async function runRollback(options: RollbackOptions): Promise<ExitCode> {
  const connection = readConnection(options);
  const { resource, to } = options;
  selectResources(connection, [resource]);
  if (!isRunId(to))
    throw new UsageError(`--to ${JSON.stringify(to)} is not a run id such as 20261121T020000Z-1a2b3c4d`);
  const input = { connection: connection.name, resource, to };
  const followed = { what: 'rollback', options, connection, resources: [resource] } as const;
  const result = await startAndFollow(followed, (temporal, start) => startRollback(temporal, input, start));
  if (options.json === true) printJson(result);
  else if (result.outcome === 'published') {
    for (const line of rolledBackLines(connection.name, resource, result.runs[0])) output.out(line);
  }
  for (const line of diagnosticLines(result)) output.note(line);
  return exitCodeOf(result);
}

/** Where a rollback went, where it came from, and how to undo it before and after the next run. */
export function rolledBackLines(connection: string, resource: string, run: RunReport | undefined): string[] {
  const { runId, rows, rolledBackFrom: from } = run ?? {};
  const reached = `${resource}: latest.json points at run ${runId} (${counted(rows ?? 0, 'row')})`;
  const next = 'The next incremental run starts from its checkpoint.';
  if (from === undefined || from === runId) return [reached, `  ${next}`];
  // A later target means that this rollback returns to a run that an earlier rollback had left.
  if (from < runId!) return [reached, `  This undoes the rollback to run ${from}. ${next}`];
  const target = `--connection ${connection} --resource ${resource}`;
  return [
    reached,
    `  It came from run ${from}. ${next}`,
    `  To undo it before that run: worktrack rollback ${target} --to ${from}`,
    `  After that run, ${from} cannot be chosen any more, and the changes since ${runId} are published again.`,
    `  To read everything again then: worktrack backfill ${target}`,
  ];
}
