import { readFile } from 'node:fs/promises';
import { DEFAULT_TASK_QUEUE } from '../core/contract.js';
import { parseHistory, type RecordedHistory } from '../temporal/history.js';
import { type ReplayedHistory, replayHistories } from '../temporal/replay.js';
import { serverHistories } from '../temporal/server-histories.js';
import { withTemporal } from './context.js';
import { readDataConverter } from './data-converter.js';
import { EXIT, type ExitCode } from './exit-code.js';
import { type GlobalOptions, positive } from './options.js';
import { output, printJson } from './output.js';
import { silenceRuntime } from './runtime.js';
import { counted } from './text.js';
import { UsageError } from './usage-error.js';

export interface ReplayCommandOptions extends GlobalOptions {
  readonly fromServer?: boolean;
  readonly workflowId?: string;
  readonly limit?: string;
  readonly json?: boolean;
}

/** `worktrack replay`: does this build go the way that histories have recorded? Ends with 1 when one diverges. */
export async function runReplay(files: readonly string[], options: ReplayCommandOptions): Promise<ExitCode> {
  const limit = options.limit === undefined ? undefined : positive('--limit', options.limit);
  if (options.fromServer !== true) {
    if (files.length === 0) throw new UsageError('name the files of histories, or give --from-server');
    if (limit !== undefined || options.workflowId !== undefined)
      throw new UsageError('--workflow-id and --limit go with --from-server');
    return replay(await readAll(files), options);
  }
  if (files.length > 0) throw new UsageError('files and --from-server do not go together');
  const { connection, workflowId, taskQueue = DEFAULT_TASK_QUEUE } = options;
  return withTemporal(options, (temporal) =>
    replay(serverHistories(temporal, { taskQueue, connection, workflowId, limit }), options),
  );
}

/** All files are read before any is replayed: a slip in the last name shows at once. @throws UsageError, ConfigurationError */
async function readAll(files: readonly string[]): Promise<RecordedHistory[]> {
  const histories: RecordedHistory[] = [];
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch((cause: Error) => {
      throw new UsageError(`${file} cannot be read: ${cause.message}`);
    });
    histories.push(parseHistory(file, text));
  }
  return histories;
}

async function replay(
  histories: Iterable<RecordedHistory> | AsyncIterable<RecordedHistory>,
  options: ReplayCommandOptions,
): Promise<ExitCode> {
  const dataConverter = await readDataConverter(options);
  silenceRuntime();
  const done: ReplayedHistory[] = [];
  for await (const replayed of replayHistories(
    histories,
    dataConverter === undefined ? {} : { dataConverter },
  )) {
    done.push(replayed);
    if (options.json !== true) output.out(lineOf(replayed));
  }
  // An answer about nothing must not pass for a good one.
  if (done.length === 0) {
    throw new UsageError(
      'nothing was replayed: there is no workflow of this package; check --namespace, --task-queue, --connection and --workflow-id',
    );
  }
  const diverged = done.filter(({ outcome }) => outcome === 'diverged').length;
  if (options.json === true)
    printJson({ outcome: diverged === 0 ? 'replayed' : 'diverged', histories: done });
  output.note(`Looked at ${done.length}; diverged: ${diverged}.`);
  if (diverged > 0) output.note(ADVICE);
  return diverged === 0 ? EXIT.done : EXIT.failed;
}

function lineOf({ name, workflowType, events, outcome, error }: ReplayedHistory): string {
  const about = `${outcome.padEnd(8)}  ${workflowType}  ${name} (${counted(events, 'event')})`;
  return error === null ? about : `${about}\n  ${error}`;
}

const ADVICE = `A worker of this build would get stuck on these. Those of workflows that are running matter: keep the workers of the
build that they began on until they have ended, or upgrade with worker deployment versioning (worktrack worker
--deployment-name N --build-id B). Workflows changed by you: put the change behind \`patched\`.`;
