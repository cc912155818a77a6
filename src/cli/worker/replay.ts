import { readFile } from 'node:fs/promises';
import { DEFAULT_TASK_QUEUE } from '../../core/contract/index.js';
import { parseHistory, type RecordedHistory } from '../../temporal/replay/parse-history.js';
import { type ReplayedHistory, replayHistories } from '../../temporal/replay/replay.js';
import { serverHistories } from '../../temporal/replay/server-histories.js';
import { withTemporal } from '../shared/context.js';
import { readDataConverter } from '../shared/data-converter.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { type GlobalOptions, positive } from '../shared/options.js';
import { output, printJson } from '../shared/output.js';
import { counted } from '../shared/text.js';
import { UsageError } from '../shared/usage-error.js';
import { silenceRuntime } from './runtime.js';

interface ReplayCommandOptions extends GlobalOptions {
  readonly fromServer?: boolean;
  readonly workflowId?: string;
  readonly limit?: string;
  readonly json?: boolean;
}

/** `worktrack replay`: checks that this build replays recorded histories; exits with 1 if one diverges. */
export async function runReplay(files: readonly string[], options: ReplayCommandOptions): Promise<ExitCode> {
  const limit = options.limit === undefined ? undefined : positive('--limit', options.limit);
  if (options.fromServer !== true) {
    if (files.length === 0) throw new UsageError('name history files, or use --from-server');
    if (limit !== undefined || options.workflowId !== undefined)
      throw new UsageError('--workflow-id and --limit require --from-server');
    return replay(await readAll(files), options);
  }
  if (files.length > 0) throw new UsageError('history files and --from-server exclude each other');
  const { connection, workflowId, taskQueue = DEFAULT_TASK_QUEUE } = options;
  return withTemporal(options, (temporal) =>
    replay(serverHistories(temporal, { taskQueue, connection, workflowId, limit }), options),
  );
}

/** Reads all files before any is replayed, so that a wrong name fails early. @throws UsageError, ConfigurationError */
async function readAll(files: readonly string[]): Promise<RecordedHistory[]> {
  const histories: RecordedHistory[] = [];
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch((cause: Error) => {
      throw new UsageError(`cannot read ${file}: ${cause.message}`);
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
  // Replaying nothing must not look like success.
  if (done.length === 0) {
    throw new UsageError(
      'found no workflows of this package to replay; check --namespace, --task-queue, --connection and --workflow-id',
    );
  }
  const diverged = done.filter(({ outcome }) => outcome === 'diverged').length;
  if (options.json === true)
    printJson({ outcome: diverged === 0 ? 'replayed' : 'diverged', histories: done });
  output.note(`Histories checked: ${done.length}; diverged: ${diverged}.`);
  if (diverged > 0) output.note(ADVICE);
  return diverged === 0 ? EXIT.done : EXIT.failed;
}

function lineOf({ name, workflowType, events, outcome, error }: ReplayedHistory): string {
  const about = `${outcome.padEnd(8)}  ${workflowType}  ${name} (${counted(events, 'event')})`;
  return error === null ? about : `${about}\n  ${error}`;
}

const ADVICE = `A worker of this build cannot continue these workflows. Only running workflows matter: keep workers of their old build
until they end, or upgrade with worker deployment versioning (worktrack worker --deployment-name N --build-id B). If you
changed the workflow yourself, put the change behind \`patched\`.`;
