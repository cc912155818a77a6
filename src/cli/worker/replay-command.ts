import { readFile } from 'node:fs/promises';
import { DEFAULT_TASK_QUEUE } from '../../core/contract/index.js';
import type { RepeatCall, TemporalClient } from '../../temporal/client/connect.js';
import {
  parseHistory,
  type RecordedHistory,
  type ReplayedHistory,
  replayHistories,
  serverHistories,
} from '../../temporal/replay.js';
import { EXIT, type ExitCode, UsageError } from '../shared/choose-exit-code.js';
import { type GlobalOptions, isSeveral, positive, type SeveralOptions } from '../shared/command-options.js';
import { orUserError, reachTemporal, readDataConverter, withTemporal } from '../shared/context.js';
import { chooseConnections, eachConnection, printEnded, readSettings } from '../shared/each-connection.js';
import { count, counted, output, printJson } from '../shared/output.js';
import { silenceRuntime } from './runtime.js';

interface ReplayCommandOptions extends SeveralOptions {
  readonly fromServer?: boolean;
  readonly workflowId?: string;
  readonly limit?: string;
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
  const ofConnection = (temporal: TemporalClient, name: string | undefined, timeoutMs?: number) => {
    const repeat: RepeatCall = (call) => reachTemporal(temporal, call, timeoutMs);
    return serverHistories(temporal, { taskQueue, connection: name, workflowId, limit, repeat });
  };
  if (!isSeveral(options))
    return withTemporal(options, (temporal) => replay(ofConnection(temporal, connection), options));
  if (workflowId !== undefined)
    throw new UsageError('--workflow-id names one workflow: leave out --all, or name one connection');
  const chosen = chooseConnections(readSettings(options), options);
  return withTemporal(options, async (temporal) => {
    const replayed = await replayerOf(options);
    const ended = await eachConnection(chosen, ({ name }, timeoutMs) =>
      orUserError(temporal, () => replayed(ofConnection(temporal, name, timeoutMs))),
    );
    if (ended.every(({ result }) => result?.length === 0)) throw nothingFound();
    const summary = (done: readonly ReplayedHistory[]) => {
      const { code, problem, outcome, diverged } = judgeHistories(done);
      const state = done.length === 0 ? 'no workflows' : outcome;
      const detail = `${count(done.length)} checked, ${count(diverged.length)} diverged`;
      return { code, problem, state, detail, lines: diverged.flatMap(linesOf) };
    };
    return printEnded(ended, options, summary, (histories) => {
      return { outcome: judgeHistories(histories).outcome, histories };
    });
  });
}

/** Reads all files before any is replayed, so that a wrong path fails early. @throws UsageError, ConfigurationError */
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

type Histories = Iterable<RecordedHistory> | AsyncIterable<RecordedHistory>;

/** A function that replays histories with the user's data converter. */
async function replayerOf(options: GlobalOptions) {
  const dataConverter = await readDataConverter(options);
  silenceRuntime();
  return async (histories: Histories, onEnd: (one: ReplayedHistory) => void = () => {}) => {
    const done: ReplayedHistory[] = [];
    for await (const replayed of replayHistories(histories, dataConverter && { dataConverter })) {
      done.push(replayed);
      onEnd(replayed);
    }
    return done;
  };
}

async function replay(histories: Histories, options: ReplayCommandOptions): Promise<ExitCode> {
  const replayed = await replayerOf(options);
  const done = await replayed(histories, (one) => {
    if (options.json !== true) for (const line of linesOf(one)) output.out(line);
  });
  // Replaying nothing must not look like success.
  if (done.length === 0) throw nothingFound();
  const { code, outcome, diverged } = judgeHistories(done);
  if (options.json === true) printJson({ outcome, histories: done });
  output.note(`Histories checked: ${done.length}; diverged: ${diverged.length}.`);
  if (diverged.length > 0) output.note(ADVICE);
  return code;
}

function judgeHistories(done: readonly ReplayedHistory[]) {
  const diverged = done.filter(({ outcome }) => outcome === 'diverged');
  const problem = diverged.length > 0;
  const code: ExitCode = problem ? EXIT.failed : EXIT.done;
  return { diverged, problem, code, outcome: problem ? 'diverged' : 'replayed' };
}

function nothingFound(): UsageError {
  return new UsageError(
    'found no workflows of this package to replay; check --namespace, --task-queue, --connection and --workflow-id',
  );
}

function linesOf({ name, workflowType, events, outcome, error }: ReplayedHistory): string[] {
  const about = `${outcome.padEnd(8)}  ${workflowType}  ${name} (${counted(events, 'event')})`;
  return error === null ? [about] : [about, `  ${error}`];
}

const ADVICE = `A worker of this build cannot continue these workflows. Only running workflows matter: keep workers of their old build
until they end, or upgrade with worker deployment versioning (worktrack worker --deployment-name N --build-id B). If you
changed the workflow yourself, put the change behind \`patched\`.`;
