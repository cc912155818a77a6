import type { RunReport } from '../../core/contract/index.js';
import { startRollback } from '../../temporal/client/start.js';
import { type ExitCode, exitCodeOf } from '../shared/choose-exit-code.js';
import { type GlobalOptions, runIdOption } from '../shared/command-options.js';
import { readConnection } from '../shared/each-connection.js';
import { counted } from '../shared/output.js';
import { printLines } from './result-lines.js';
import { type RunCommand, runOnConnections } from './start-and-follow.js';

/** `worktrack rollback`: publishes the rows of an earlier published run as a new run. */
export async function runRollback(
  options: GlobalOptions & Readonly<Record<'resource' | 'to', string>>,
): Promise<ExitCode> {
  const connection = readConnection(options);
  const { resource } = options;
  const to = runIdOption('--to', options.to);
  const input = { connection: connection.name, resource, to };
  const start: RunCommand['start'] = (temporal, _, startOptions) =>
    startRollback(temporal, input, startOptions);
  const print: RunCommand['print'] = (result) => {
    const [run] = result.runs;
    const lines = result.outcome === 'published' ? rolledBackLines(connection.name, resource, run) : [];
    printLines(result, lines, options);
    return exitCodeOf(result);
  };
  return runOnConnections({ what: 'rollback', options, resources: [resource], start, print }, [connection]);
}

/** What a rollback published, what follows, and how to undo it. */
function rolledBackLines(connection: string, resource: string, run: RunReport | undefined): string[] {
  const { runId, rows, rolledBackTo: to, rolledBackFrom: from } = run ?? {};
  const target = `--connection ${connection} --resource ${resource}`;
  return [
    `${resource}: run ${runId} publishes the rows of run ${to} (${counted(rows ?? 0, 'row')})`,
    '  The next run reads everything, and marks no deletes.',
    ...(from === undefined ? [] : [`  To undo the rollback: \`worktrack rollback ${target} --to ${from}\``]),
  ];
}
