import { join } from 'node:path';
import { ConfigurationError } from '../../core/configuration-error.js';
import type { ExportInput, ExportResult } from '../../core/contract/index.js';
import { DEFAULT_TASK_QUEUE } from '../../core/contract/index.js';
import { formatDuration } from '../../core/duration.js';
import { withFileLock } from '../../core/file-lock.js';
import type { ProcessIdentity } from '../../core/process-identity.js';
import type { ConnectionSettings, Settings } from '../../core/settings.js';
import { makeFolder, systemCause } from '../../core/system-error.js';
import { startExport } from '../../temporal/client/start.js';
import { followToEnd } from '../runs/start-and-follow.js';
import type { GlobalOptions } from '../shared/options.js';
import { output } from '../shared/output.js';
import { readTraces } from '../shared/traces.js';
import { localExportId, localStateFolder } from './local-state.js';
import { type LocalTemporal, startLocalTemporal } from './local-temporal.js';
import { failedByPause, PauseLog } from './pauses.js';

/**
 * `export --local`: runs a Temporal server with its state on disk and a worker in this process until the export ends.
 * The state contains the checkpoint, so the next run is incremental and an interrupted run continues.
 */
export async function runLocalExport(
  options: GlobalOptions,
  settings: Settings,
  connection: ConnectionSettings,
  input: ExportInput,
): Promise<ExportResult> {
  const { folder, isTemporary } = localStateFolder(settings.source, process.env, process.cwd());
  await makeFolder(folder, 0o700).catch((cause: unknown) => {
    const why = isTemporary ? 'HOME cannot be used, nor ' : '';
    throw new ConfigurationError(
      `There is no folder for the state: ${why}${folder}: ${systemCause(cause)}.`,
      {
        remedy: 'Set XDG_STATE_HOME to a folder in which this user can create files.',
        cause,
      },
    );
  });
  output.note(`State and logs: ${folder}`);
  if (isTemporary)
    output.note(
      'This is a temporary folder, because HOME cannot be used. If it is removed, the next run continues from the checkpoint in the lake. To choose another folder, set XDG_STATE_HOME.',
    );
  const onWait = ({ pid }: ProcessIdentity): void =>
    output.note(
      `Another export --local of this configuration is running (process ${pid}); waiting until it ends`,
    );
  const signal = new AbortController().signal;
  return withFileLock(join(folder, 'lock.json'), { signal, onWait }, async () => {
    const taskQueue = options.taskQueue ?? DEFAULT_TASK_QUEUE;
    const traces = await readTraces(options, output.note);
    const local = await startLocalTemporal({ folder, keepState: true, settings, taskQueue, traces });
    const pauses = PauseLog.open(folder);
    if (local.uiUrl !== null) output.note(`Temporal UI while this runs: ${local.uiUrl}`);
    try {
      for (;;) {
        const { result, startedAt } = await Promise.race([exportOnce(local, taskQueue), local.failed]);
        const { giveUpAfterMs } = connection.retries;
        const since = (time: number): number => pauses.since(time);
        if (!failedByPause(result, startedAt, Date.now(), giveUpAfterMs, since)) return result;
        output.note(
          `The export was paused for ${formatDuration(wholeSeconds(since(startedAt)))} and failed only because this exceeds ` +
            `retries.giveUpAfter (${formatDuration(giveUpAfterMs)}). Starting it again.`,
        );
      }
    } finally {
      await local.stop();
      pauses.close();
      await traces?.close();
    }
  });

  /** Starts the export, or resumes the one that an earlier command left, and follows it to its end. */
  async function exportOnce({ temporal }: LocalTemporal, taskQueue: string) {
    const workflowId = await startExport(temporal, input, { taskQueue, workflowId: localExportId(input) });
    const { startTime } = await temporal.client.workflow.getHandle(workflowId).describe();
    const { resources } = input;
    const result = await followToEnd(temporal, {
      ...{ workflowId, options, connection, resources, what: 'export', local: true },
    });
    return { result, startedAt: startTime.getTime() };
  }
}

function wholeSeconds(ms: number): number {
  return Math.round(ms / 1000) * 1000;
}
