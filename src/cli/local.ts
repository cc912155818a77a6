import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExportInput, ExportResult } from '../core/contract.js';
import { DEFAULT_TASK_QUEUE } from '../core/contract.js';
import type { ConnectionSettings, Settings } from '../core/settings.js';
import { withLock } from '../servers/lock.js';
import { startExport } from '../temporal/start.js';
import { followToEnd } from './follow.js';
import { localExportId, localStateFolder } from './local-state.js';
import { startLocalTemporal } from './local-temporal.js';
import type { GlobalOptions } from './options.js';
import { output } from './output.js';
import { readTraces } from './traces.js';

/**
 * `export --local`: a Temporal server with its state on disk and a worker in this process, for as long as the export
 * takes. The checkpoint is in that state, so the next run is an increment; a run that was broken off goes on.
 */
export async function runLocalExport(
  options: GlobalOptions,
  settings: Settings,
  connection: ConnectionSettings,
  input: ExportInput,
): Promise<ExportResult> {
  const folder = localStateFolder(settings.source, process.env, process.cwd());
  await mkdir(folder, { recursive: true, mode: 0o700 });
  output.note(`State and logs: ${folder}`);
  const onWait = (pid: number): void =>
    output.note(`Another export --local of this configuration is running (process ${pid}); waiting for it`);
  const signal = new AbortController().signal;
  return withLock(join(folder, 'lock'), { signal, onWait }, async () => {
    const taskQueue = options.taskQueue ?? DEFAULT_TASK_QUEUE;
    const traces = await readTraces(options, output.note);
    const local = await startLocalTemporal({ folder, keepState: true, settings, taskQueue, traces });
    if (local.uiUrl !== null) output.note(`Temporal UI while this runs: ${local.uiUrl}`);
    try {
      const workflowId = await startExport(local.temporal, input, {
        taskQueue,
        workflowId: localExportId(input),
      });
      const { resources } = input;
      const followed = followToEnd(local.temporal, {
        ...{ workflowId, options, connection, resources, what: 'export', local: true },
      });
      return await Promise.race([followed, local.failed]);
    } finally {
      await local.stop();
      await traces?.close();
    }
  });
}
