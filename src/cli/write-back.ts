import { selectConnection } from '../config/index.js';
import type { ConnectionSettings } from '../core/settings.js';
import type { InputFormat, WriteBackInput, WriteBackResult } from '../core/write-back-contract.js';
import { pointerKey } from '../lake/layout.js';
import { type ObjectStore, openStore, StoreError } from '../lake/store/index.js';
import type { TemporalClient } from '../temporal/connect.js';
import { grpcMessage, isUnreachable } from '../temporal/grpc.js';
import { OutOfReachError, reach } from '../temporal/reach.js';
import { checkWriteBack, copyInput, writableResource } from '../temporal/stage-write-back.js';
import { startWriteBack } from '../temporal/start-write-back.js';
import { readSettings, withTemporal } from './context.js';
import { type ExitCode, writeBackExitCode } from './exit-code.js';
import { type GlobalOptions, reachTimeoutMs } from './options.js';
import { output, printJson } from './output.js';
import { counted } from './text.js';
import { dryRun } from './write-back/dry-run.js';
import { followBatch } from './write-back/follow.js';
import { resultLines, troubleLines } from './write-back/report.js';
import { spooled } from './write-back/stdin.js';

export interface WriteBackOptions extends GlobalOptions {
  readonly dryRun?: boolean;
  readonly keyColumn?: string;
  readonly batchId?: string;
  readonly format?: InputFormat;
  readonly unknown?: 'resend' | 'skip';
  readonly readBack?: boolean;
  readonly json?: boolean;
}

/** `worktrack write-back`: checks a file, copies it into the lake, and follows its batch to the end. */
export async function runWriteBack(
  resource: string,
  file: string,
  options: WriteBackOptions,
): Promise<ExitCode> {
  const connection = selectConnection(readSettings(options), options.connection);
  return spooled(file, options.format, async (path) => {
    const store = openStore(connection.lake);
    try {
      const { format, keyColumn, batchId } = options;
      await reachLake(connection, store, writableResource(resource));
      const input = await withLake(() =>
        checkWriteBack(connection, store, { resource, file: path, format, keyColumn, batchId }),
      );
      if (options.dryRun === true) return await dryRun(connection, input, options);
      output.note(`${counted(input.rows, 'row')} to write to ${input.resource}, batch ${input.batchId}`);
      const staged = await withLake(() => copyInput(connection.name, store, input));
      const result = await withTemporal(options, (temporal) => write(temporal, connection, staged, options));
      return finish(result, connection, options);
    } finally {
      store.close();
    }
  });
}

async function write(
  temporal: TemporalClient,
  connection: ConnectionSettings,
  staged: WriteBackInput,
  options: WriteBackOptions,
): Promise<WriteBackResult> {
  const input: WriteBackInput = {
    ...staged,
    ...(options.unknown === undefined ? {} : { unknown: options.unknown }),
    ...(options.readBack === false ? { readBack: false } : {}),
  };
  for (;;) {
    const { workflowId, other } = await reach(
      `Temporal at ${temporal.address}`,
      () => startWriteBack(temporal, input, { taskQueue: options.taskQueue }),
      isUnreachable,
      grpcMessage,
      { timeoutMs: reachTimeoutMs(process.env), onTrouble: output.note },
    );
    output.note(`Workflow: ${workflowId}`);
    if (other)
      output.note(
        'The batch is under way already with another input or another --unknown; waiting for its end first.',
      );
    const result = await followBatch(temporal, { workflowId, connection, input });
    if (!other) return result;
  }
}

function finish(result: WriteBackResult, { lake }: ConnectionSettings, { json }: WriteBackOptions): ExitCode {
  const { batchId, outcome, counts, results } = result;
  if (json === true) printJson({ batchId, outcome, counts, results });
  else for (const line of resultLines(result, lake.url)) output.out(line);
  for (const line of troubleLines(result)) output.note(line);
  return writeBackExitCode(result);
}

/** Waits until the lake answers, for a minute at most (DESIGN 5). */
function reachLake({ lake }: ConnectionSettings, store: ObjectStore, resource: string): Promise<unknown> {
  return reach(
    `The lake ${lake.url}`,
    () => store.head(pointerKey(resource)),
    isStoreUnreachable,
    (error) => (error instanceof Error ? error.message : String(error)),
    { timeoutMs: reachTimeoutMs(process.env), onTrouble: output.note },
  );
}

/** Long work with the lake, whose client is patient by itself. */
async function withLake<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isStoreUnreachable(error)) throw new OutOfReachError((error as Error).message);
    throw error;
  }
}

function isStoreUnreachable(error: unknown): boolean {
  return error instanceof StoreError && error.kind === 'unreachable';
}
