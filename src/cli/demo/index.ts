import { relative } from 'node:path';
import type { ExportResult } from '../../core/contract.js';
import { followExport } from '../../temporal/follow.js';
import { startExport } from '../../temporal/start.js';
import { type ExitCode, exitCodeOf, writeBackExitCode } from '../exit-code.js';
import { type GlobalOptions, positive } from '../options.js';
import { output } from '../output.js';
import { progressOn } from '../progress/screen.js';
import { troubleLines } from '../report.js';
import { counted } from '../text.js';
import { freshFolder } from './folder.js';
import { exportTable, lookCommands, receiptCommands } from './look.js';
import { type DemoServers, startDemoServers } from './servers.js';
import { makeChanges } from './service.js';
import { writeBackDemo } from './write-back.js';

export interface DemoOptions extends GlobalOptions {
  readonly dir?: string;
  readonly rows?: string;
}

const DEFAULT_FOLDER = '.worktrack/demo';
const DEFAULT_ROWS = 5_000;

/** `worktrack demo`: the whole thing on this machine, with nothing configured. */
export async function runDemo({ dir, rows }: DemoOptions): Promise<ExitCode> {
  const timeEntries = rows === undefined ? DEFAULT_ROWS : positive('--rows', rows);
  const began = performance.now();
  const folder = await freshFolder(dir ?? DEFAULT_FOLDER);
  output.note('Starting a made-up service, an S3 server, a Temporal server and a worker on this machine');
  const servers = await startDemoServers(folder, timeEntries);
  const letGo = endOnSignal(servers);
  try {
    return await show(servers, folder, began);
  } finally {
    letGo();
    await servers.stop();
  }
}

async function show(servers: DemoServers, folder: string, began: number): Promise<ExitCode> {
  const { simulator, s3Endpoint, local, connection, lakeFolder, configFile } = servers;
  output.out(`Service:     ${simulator.url}`);
  output.out(`S3:          ${s3Endpoint}, lake ${connection.lake.url}`);
  output.out(`Temporal UI: ${local.uiUrl ?? 'none'} (while the demo runs)`);
  output.out('\n1. The first export reads everything');
  const first = await exportOnce(servers);
  if (first.outcome !== 'published') return exitCodeOf(first);
  output.out('\n2. Meanwhile, in the service');
  for (const [resource, { created, changed }] of Object.entries(makeChanges(simulator))) {
    output.out(`  ${resource}: ${created} created, ${changed} changed`);
  }
  output.out(
    '\n3. The second export reads what changed since the first, and publishes a complete snapshot again',
  );
  const second = await exportOnce(servers);
  if (second.outcome !== 'published') return exitCodeOf(second);
  output.out('\n4. A file is written back to the service, and read back into the lake');
  const written = await writeBackDemo(servers, folder);
  if (written.outcome !== 'written') return writeBackExitCode(written);
  output.out(
    `\n5. Where it is: ${relative(process.cwd(), folder) || '.'} (kept; the next demo starts afresh)`,
  );
  for (const line of [...lookCommands(second, lakeFolder), ...receiptCommands(written, lakeFolder)])
    output.out(line);
  output.out(`The configuration that was used: ${configFile}`);
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
  for (const line of troubleLines(result)) output.note(line);
  return result;
}

/** Ctrl-C ends the demo with its servers, which are children of this process. */
function endOnSignal(servers: DemoServers): () => void {
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
