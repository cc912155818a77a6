import { writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { ExportResult } from '../../core/contract/index.js';
import { type ObjectStore, openStore } from '../../lake/store/index.js';
import { createReport } from '../../report/index.js';
import { startExport } from '../../temporal/client/start.js';
import { followExport } from '../../temporal/follow/follow-export.js';
import { exportProgressOn } from '../progress/views.js';
import { diagnosticLines } from '../runs/result-lines.js';
import { type ExitCode, exitCodeOf, writeBackExitCode } from '../shared/exit-code.js';
import { type GlobalOptions, positive } from '../shared/options.js';
import { output } from '../shared/output.js';
import { count, counted } from '../shared/text.js';
import { createDemoFolder } from './folder.js';
import { type Hours, hoursFigures, hoursSql, hoursTable, readHours } from './hours.js';
import { keepServers } from './keep.js';
import { type DemoServers, startDemoServers } from './servers.js';
import { changesText, makeChanges } from './service.js';
import { createdLines } from './shell-commands.js';
import { writeBackDemo } from './write-back.js';

export interface DemoOptions extends GlobalOptions {
  readonly dir?: string;
  readonly rows?: string;
  readonly awkward?: boolean;
  readonly keep?: boolean;
}

const DEFAULT_FOLDER = '.worktrack/demo';
const DEFAULT_ROWS = 5_000;

/** `worktrack demo`: runs everything on this machine without configuration. */
export async function runDemo({ dir, rows, awkward, keep }: DemoOptions): Promise<ExitCode> {
  const timeEntries = rows === undefined ? DEFAULT_ROWS : positive('--rows', rows);
  const began = performance.now();
  const folder = await createDemoFolder(dir ?? DEFAULT_FOLDER);
  output.note('Starting a simulated service, an S3 server, a Temporal server and a worker on this machine');
  const data = awkward === true ? 'generic' : 'realistic';
  const servers = await startDemoServers(folder, { timeEntries, data });
  const removeHandlers = stopOnSignal(servers);
  try {
    const code = await runSteps(servers, folder);
    const place = relative(process.cwd(), folder) || '.';
    for (const line of createdLines(place)) output.out(line);
    const seconds = counted((performance.now() - began) / 1000, 'second');
    if (keep === true) await keepServers(servers, folder);
    else output.out(`Done in ${seconds}. To look around while the servers run: worktrack demo --keep`);
    return code;
  } finally {
    removeHandlers();
    await servers.stop();
  }
}

async function runSteps(servers: DemoServers, folder: string): Promise<ExitCode> {
  const { simulator, lakeFolder } = servers;
  const first = await exportOnce(servers);
  const published = `${count(rowsOf(first))} rows of ${first.runs.length} resources`;
  output.out(`1. The first export reads everything: ${published}`);
  if (first.outcome !== 'published') return exitCodeOf(first);
  output.out(`2. Changes: ${changesText(makeChanges(simulator))}`);
  const second = await exportOnce(servers);
  if (second.outcome !== 'published') return exitCodeOf(second);
  const { inserted, updated } = changesOf(second);
  output.out(
    `3. The second export reads only what changed: ${count(inserted)} new and ${count(updated)} changed rows`,
  );
  const written = await writeBackDemo(servers, folder);
  if (written.outcome !== 'written') return writeBackExitCode(written);
  const store = openStore(servers.connection.lake);
  try {
    const sql = await hoursSql(store, lakeFolder);
    await writeFile(join(folder, 'hours.sql'), `${sql};\n`);
    const hours = await readHours(store, sql, output.note);
    output.out(`5. Hours by project and week, from the lake (computed by ${hours.by})`);
    for (const line of hoursTable(hours)) output.out(line);
    await writeReport(store, servers, { folder, hours });
  } finally {
    store.close();
  }
  return exitCodeOf(second);
}

async function writeReport(
  store: ObjectStore,
  { connection }: DemoServers,
  { folder, hours }: { readonly folder: string; readonly hours: Hours },
): Promise<void> {
  const resources = connection.resources.map(({ name }) => name);
  const request = { connection: connection.name, resources, runId: null, madeAt: Date.now() };
  const html = await createReport(store, { ...request, figures: hoursFigures(hours) });
  if (html !== null) await writeFile(join(folder, 'report.html'), html);
}

async function exportOnce({ local, connection, taskQueue }: DemoServers): Promise<ExportResult> {
  const workflowId = await startExport(local.temporal, { connection: connection.name }, { taskQueue });
  const progress = exportProgressOn(process.stderr);
  const resources = connection.resources.map(({ name }) => name);
  const onView = progress.show.bind(progress);
  const following = followExport(local.temporal, workflowId, { resources, onView, everyMs: 250 });
  const result = await Promise.race([following, local.failed]);
  progress.end();
  for (const line of diagnosticLines(result)) output.note(line);
  return result;
}

function rowsOf({ runs }: ExportResult): number {
  return runs.reduce((sum, { rows }) => sum + (rows ?? 0), 0);
}

function changesOf({ runs }: ExportResult): { readonly inserted: number; readonly updated: number } {
  const sum = (of: 'inserted' | 'updated') => runs.reduce((all, { counts }) => all + (counts?.[of] ?? 0), 0);
  return { inserted: sum('inserted'), updated: sum('updated') };
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
