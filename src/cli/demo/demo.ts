import { relative } from 'node:path';
import type { ExportResult } from '../../core/contract/index.js';
import { startExport } from '../../temporal/client/start.js';
import { followExport } from '../../temporal/follow/follow.js';
import { progressOn } from '../progress/screen.js';
import { diagnosticLines } from '../runs/result-lines.js';
import { type ExitCode, exitCodeOf, writeBackExitCode } from '../shared/exit-code.js';
import { type GlobalOptions, positive } from '../shared/options.js';
import { output } from '../shared/output.js';
import { counted } from '../shared/text.js';
import { createDemoFolder } from './folder.js';
import { type DemoServers, startDemoServers } from './servers.js';
import { makeChanges } from './service.js';
import { exportTable, lakeCommands, receiptCommands } from './shell-commands.js';
import { writeBackDemo } from './write-back.js';

export interface DemoOptions extends GlobalOptions {
  readonly dir?: string;
  readonly rows?: string;
}

const DEFAULT_FOLDER = '.worktrack/demo';
const DEFAULT_ROWS = 5_000;

/** `worktrack demo`: runs everything on this machine without configuration. */
export async function runDemo({ dir, rows }: DemoOptions): Promise<ExitCode> {
  const timeEntries = rows === undefined ? DEFAULT_ROWS : positive('--rows', rows);
  const began = performance.now();
  const folder = await createDemoFolder(dir ?? DEFAULT_FOLDER);
  output.note('Starting a simulated service, an S3 server, a Temporal server and a worker on this machine');
  const servers = await startDemoServers(folder, timeEntries);
  const removeHandlers = stopOnSignal(servers);
  try {
    return await runSteps(servers, folder, began);
  } finally {
    removeHandlers();
    await servers.stop();
  }
}

async function runSteps(servers: DemoServers, folder: string, began: number): Promise<ExitCode> {
  const { simulator, s3Endpoint, local, connection, lakeFolder, configFile } = servers;
  output.out(`Service:     ${simulator.url}`);
  output.out(`S3:          ${s3Endpoint}, lake ${connection.lake.url}`);
  output.out(`Temporal UI: ${local.uiUrl ?? 'none'} (while the demo runs)`);
  output.out('\n1. The first export reads everything');
  const first = await exportOnce(servers);
  if (first.outcome !== 'published') return exitCodeOf(first);
  output.out('\n2. Records change in the service');
  for (const [resource, { created, changed }] of Object.entries(makeChanges(simulator))) {
    output.out(`  ${resource}: ${created} created, ${changed} changed`);
  }
  output.out('\n3. The second export reads only the changes and publishes a new complete snapshot');
  const second = await exportOnce(servers);
  if (second.outcome !== 'published') return exitCodeOf(second);
  output.out('\n4. Write-back sends a file to the service, and an incremental run reads the new records');
  const written = await writeBackDemo(servers, folder);
  if (written.outcome !== 'written') return writeBackExitCode(written);
  output.out(`\n5. The files are in ${relative(process.cwd(), folder) || '.'} (the next demo replaces them)`);
  for (const line of [...lakeCommands(second, lakeFolder), ...receiptCommands(written, lakeFolder)])
    output.out(line);
  output.out(`Configuration of the demo: ${configFile}`);
  output.out(`\nDone in ${counted((performance.now() - began) / 1000, 'second')}.`);
  return exitCodeOf(second);
}

async function exportOnce({ local, connection, taskQueue }: DemoServers): Promise<ExportResult> {
  const workflowId = await startExport(local.temporal, { connection: connection.name }, { taskQueue });
  const progress = progressOn(process.stderr);
  const resources = connection.resources.map(({ name }) => name);
  const onView = progress.show.bind(progress);
  const following = followExport(local.temporal, workflowId, { resources, onView, everyMs: 250 });
  const result = await Promise.race([following, local.failed]);
  progress.end();
  for (const line of exportTable(result)) output.out(line);
  for (const line of diagnosticLines(result)) output.note(line);
  return result;
}

/** Ctrl-C ends the demo with its servers, which are children of this process. */
function stopOnSignal(servers: DemoServers): () => void {
  const end = (signal: NodeJS.Signals): void => {
    output.note(`\n${signal}: stopping the demo`);
    const number = signal === 'SIGINT' ? 2 : 15;
    void servers.stop().finally(() => process.exit(128 + number));
  };
  process.once('SIGINT', end);
  process.once('SIGTERM', end);
  return () => {
    process.off('SIGINT', end);
    process.off('SIGTERM', end);
  };
}
