import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { constants } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseSettings } from '../../config/index.js';
import { DEFAULT_TASK_QUEUE, type ExportResult, type RunReport } from '../../core/contract/index.js';
import type { WriteBackResult } from '../../core/contract/write-back.js';
import { HOUR_MS } from '../../core/duration.js';
import type { ConnectionSettings, LakeSettings } from '../../core/settings.js';
import { shellWord } from '../../core/short-text.js';
import { makeFolder, systemCause } from '../../core/system-error.js';
import { type ObjectStore, openStore } from '../../lake/store/index.js';
import { createReport } from '../../report/index.js';
import { ensureBucket, resolveServer, startVersitygw } from '../../servers/index.js';
import { DEMO_KEY, type Simulator, startSimulator } from '../../simulator/index.js';
import { startAudit, startExport, startWriteBack } from '../../temporal/client/start.js';
import { followExport } from '../../temporal/follow/follow-export.js';
import { followWriteBack } from '../../temporal/follow/follow-write-back.js';
import { stageWriteBack } from '../../write-back/index.js';
import { exportProgressOn } from '../progress/progress-views.js';
import { auditedResources, auditTotal } from '../runs/audit-lines.js';
import { diagnosticLines } from '../runs/result-lines.js';
import { type ExitCode, exitCodeOf, UsageError, writeBackExitCode } from '../shared/choose-exit-code.js';
import { type GlobalOptions, positive } from '../shared/command-options.js';
import { count, counted, output, table } from '../shared/output.js';
import { type LocalTemporal, startLocalTemporal } from '../worker/local-temporal.js';
import { batchDiagnostics } from '../write-back/index.js';
import { demoCounts, makeChanges } from './demo-service.js';
import { HOURS_SQL, type Hours, hoursFigures, hoursTable, readHours } from './hours.js';

interface DemoOptions extends GlobalOptions {
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
  const servers = await startDemoServers(folder, timeEntries, data);
  const { simulator, lakeFolder } = servers;
  const removeHandlers = stopOnSignal(servers);
  try {
    const code = await runSteps(servers, folder);
    const place = relative(process.cwd(), folder) || '.';
    for (const line of createdLines(place)) output.out(line);
    const seconds = counted((performance.now() - began) / 1000, 'second');
    if (keep === true) await keepServers(servers, folder);
    await writeFile(servers.configFile, demoConfig(simulator.url, { url: pathToFileURL(lakeFolder).href }));
    output.out('Query the lake, which needs no server:');
    output.code(`   worktrack query --config ${shellWord(`${place}/worktrack.yaml`)} 'FROM tasks LIMIT 5'`);
    output.out(`Done in ${seconds}. To keep the servers running: \`worktrack demo --keep\``);
    return code;
  } finally {
    removeHandlers();
    await servers.stop();
  }
}

async function runSteps(servers: DemoServers, folder: string): Promise<ExitCode> {
  const { simulator, connection } = servers;
  const first = await exportOnce(servers);
  const published = `${sumOf(first, ({ rows }) => rows ?? 0)} rows of ${first.runs.length} resources`;
  output.out(`1. The first export reads everything: ${published}`);
  if (first.outcome !== 'published') return exitCodeOf(first);
  output.out(`2. Changes: ${makeChanges(simulator)}`);
  const second = await exportOnce(servers);
  if (second.outcome !== 'published') return exitCodeOf(second);
  const changed = (of: 'inserted' | 'updated') => sumOf(second, ({ counts }) => counts?.[of] ?? 0);
  output.out(
    `3. The second export reads only what changed: ${changed('inserted')} inserted and ${changed('updated')} updated rows`,
  );
  const written = await writeBackDemo(servers, folder);
  if (written.outcome !== 'written') return writeBackExitCode(written);
  await writeFile(join(folder, 'hours.sql'), `${HOURS_SQL};\n`);
  const hours = await readHours(connection, join(folder, 'cache'), output.note);
  output.out(`5. Hours by project and week, from the lake (computed by ${hours.by})`);
  for (const line of hoursTable(hours)) output.out(line);
  const store = openStore(connection.lake);
  try {
    const audited = await auditOnce(servers);
    await writeReport(store, servers, { folder, hours });
    return exitCodeOf(audited);
  } finally {
    store.close();
  }
}

/** Proves that the lake equals the service. */
async function auditOnce({ local, connection }: DemoServers): Promise<ExportResult> {
  const workflowId = await startAudit(local.temporal, { connection: connection.name });
  const following = followExport(local.temporal, workflowId, { everyMs: 250 });
  const result = await Promise.race([following, local.failed]);
  for (const line of diagnosticLines(result)) output.note(line);
  output.out(`6. The audit finds ${auditTotal(auditedResources(result))}`);
  return result;
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

async function exportOnce({ local, connection }: DemoServers): Promise<ExportResult> {
  const workflowId = await startExport(local.temporal, { connection: connection.name });
  const progress = exportProgressOn(process.stderr);
  const resources = connection.resources.map(({ name }) => name);
  const onView = progress.show.bind(progress);
  const following = followExport(local.temporal, workflowId, { resources, onView, everyMs: 250 });
  const result = await Promise.race([following, local.failed]);
  progress.end();
  for (const line of diagnosticLines(result)) output.note(line);
  return result;
}

function sumOf({ runs }: ExportResult, of: (run: RunReport) => number): string {
  return count(runs.reduce((sum, run) => sum + of(run), 0));
}

/** Ctrl-C ends the demo with its servers, which are children of this process. */
function stopOnSignal(servers: DemoServers): () => void {
  const end = (signal: NodeJS.Signals): void => {
    output.paragraph(`\n${signal}: stopping the demo`);
    void servers.stop().finally(() => process.exit(128 + constants.signals[signal]));
  };
  const signals = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of signals) process.once(signal, end);
  return () => {
    for (const signal of signals) process.off(signal, end);
  };
}

const ROWS = 12;
/** Marks the records of the file in the service. */
const SOURCE = '"source":"time-sheet"';

/** Writes a small file of time entries back while one response is lost, and reads the new records into the lake. */
async function writeBackDemo(servers: DemoServers, folder: string): Promise<WriteBackResult> {
  const { simulator, local, connection } = servers;
  const file = join(folder, 'time-entries.csv');
  const project = JSON.parse(simulator.admin.records('projects', 'listed')[0]!) as { id: string };
  await writeFile(file, demoCsv(simulator.admin.now(), project.id));
  // The service creates one record and the response is lost. Write-back must not create it twice.
  simulator.admin.faults.add({ match: { method: 'POST', nth: 5 }, fault: { kind: 'lose-response' } });
  const input = await stageWriteBack(connection, { resource: 'time-entries', file });
  const { workflowId } = await startWriteBack(local.temporal, input);
  const following = followWriteBack(local.temporal, workflowId, { everyMs: 250 });
  const result = await Promise.race([following, local.failed]);
  simulator.admin.faults.clear();
  for (const line of await batchDiagnostics(result)) output.note(line);
  const records = simulator.admin.records('time-entries').filter((text) => text.includes(SOURCE)).length;
  output.out(
    `4. Write-back sends ${counted(result.rows, 'row')}; one response is lost; the service has ${counted(records, 'record')}`,
  );
  return result;
}

function demoCsv(now: number, projectId: string): string {
  const rows = Array.from({ length: ROWS }, (_, n) => {
    const start = new Date(now - (n + 1) * HOUR_MS).toISOString();
    return `Time sheet,${projectId},${start},${900 * (1 + (n % 4))},${n % 3 === 0},time-sheet\n`;
  });
  return `description,projectId,startedAt,durationSeconds:integer,billable:boolean,source\n${rows.join('')}`;
}

/** What the demo created, with its use. @param folder the folder of the demo, relative to the working directory */
export function createdLines(folder: string): string[] {
  const at = (name: string): string => shellWord(`${folder}/${name}`);
  const files = [
    ['report.html', 'the runs, and these hours as charts'],
    ['hours.sql', 'the query for these hours'],
    ['s3/demo-lake', 'the lake: snapshots, change logs, receipts'],
    ['worktrack.yaml', 'the configuration'],
  ] as const;
  return ['The demo created:', ...table(files.map(([name, what]) => [`   ${at(name)}`, what]))];
}

/** Prints the addresses of the servers and waits; Ctrl-C stops them. */
async function keepServers(servers: DemoServers, folder: string): Promise<never> {
  const file = join(folder, 'env');
  await writeFile(file, environment(servers), { mode: 0o600 });
  const { simulator, local, connection } = servers;
  output.out('The servers are running. Ctrl-C stops them.');
  output.out(`  service      ${simulator.url}`);
  output.out(`  S3           ${connection.lake.endpoint}, lake ${connection.lake.url}`);
  output.out(`  Temporal     ${local.temporal.address}, UI ${local.uiUrl ?? 'none'}`);
  output.out(
    `In another terminal: \`. ${relative(process.cwd(), file)} && worktrack query 'FROM tasks LIMIT 5'\``,
  );
  return local.failed;
}

/** The variables that other commands find the servers with. The credentials are those of the demo's own S3 server. */
function environment({ local, configFile }: DemoServers): string {
  const variables = {
    WORKTRACK_CONFIG: configFile,
    TEMPORAL_ADDRESS: local.temporal.address,
    TEMPORAL_NAMESPACE: local.temporal.namespace,
    WORKTRACK_DEMO_API_KEY: process.env.WORKTRACK_DEMO_API_KEY ?? '',
    AWS_ACCESS_KEY_ID: process.env.AWS_ACCESS_KEY_ID ?? '',
    AWS_SECRET_ACCESS_KEY: process.env.AWS_SECRET_ACCESS_KEY ?? '',
  };
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", "'\\''")}'\n`)
    .join('');
}

/** Marks a folder that the demo created and may remove. */
const MARKER = '.worktrack-demo';

/**
 * Creates an empty folder for the demo. Removes the folder of an earlier demo; leaves any other folder alone.
 *
 * @throws UsageError if the folder is not empty and is not from an earlier demo
 */
export async function createDemoFolder(path: string): Promise<string> {
  const folder = resolve(path);
  const entries = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return [];
    throw new UsageError(`cannot use --dir ${path}: ${systemCause(error)}`);
  });
  if (entries.length > 0) {
    if (!entries.includes(MARKER)) {
      throw new UsageError(
        `${folder} is not empty and is not from an earlier demo. Choose another folder with --dir.`,
      );
    }
    await rm(folder, { recursive: true, force: true });
  }
  try {
    await makeFolder(folder);
    await writeFile(
      join(folder, MARKER),
      'Created by `worktrack demo`, which removes this folder when it runs again.\n',
    );
  } catch (error) {
    throw new UsageError(`cannot create ${folder}: ${systemCause(error)}. Choose another folder with --dir.`);
  }
  return folder;
}

const BUCKET = 'demo-lake';
const PREFIX = 'worktrack';

interface DemoServers {
  readonly simulator: Simulator;
  readonly local: LocalTemporal;
  readonly connection: ConnectionSettings;
  readonly configFile: string;
  readonly lakeFolder: string;
  stop(): Promise<void>;
}

/** Starts the simulated service, an S3 server, a Temporal server and a worker. @throws ServerInstallError, ServerStartError */
async function startDemoServers(
  folder: string,
  timeEntries: number,
  data: 'generic' | 'realistic',
): Promise<DemoServers> {
  const logs = join(folder, 'logs');
  const dataDir = join(folder, 's3');
  await mkdir(logs);
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const one of stops.splice(0).reverse()) await one();
  };
  try {
    const { path: executable } = await resolveServer('versitygw');
    const files = { dataDir, iamDir: join(folder, 'iam'), logFile: join(logs, 's3.log') };
    const s3 = await startVersitygw({ executable, ...files });
    stops.push(() => s3.stop());
    await ensureBucket(s3, BUCKET);
    const simulator = await startSimulator({ counts: demoCounts(timeEntries), data });
    stops.push(() => simulator.close());
    const { endpoint, region } = s3;
    const lake = { url: `s3://${BUCKET}/${PREFIX}`, endpoint, region, forcePathStyle: true };
    const yaml = demoConfig(simulator.url, lake);
    const configFile = join(folder, 'worktrack.yaml');
    await writeFile(configFile, yaml);
    useCredentials(s3);
    const settings = parseSettings(yaml, configFile);
    const connection = settings.connections[0]!;
    const options = { folder: logs, keepState: false, settings, taskQueue: DEFAULT_TASK_QUEUE };
    const local = await startLocalTemporal(options);
    stops.push(() => local.stop());
    const lakeFolder = join(dataDir, BUCKET, PREFIX);
    return { simulator, local, connection, configFile, lakeFolder, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function demoConfig(baseUrl: string, lake: LakeSettings): string {
  return `# The configuration of the demo. Its servers stop when the demo ends; the folder of the S3 server stays.
connections:
  demo:
    baseUrl: ${baseUrl}
    apiKey: { env: WORKTRACK_DEMO_API_KEY }
    lake: ${JSON.stringify(lake)}
    resources: [projects, tasks, time-entries, calendar-entries, members]
`;
}

/** Sets the environment variables that the worker in this process reads, and removes the user's own AWS settings. */
function useCredentials(access: { readonly accessKeyId: string; readonly secretAccessKey: string }): void {
  for (const name of Object.keys(process.env))
    if (/^AWS_(PROFILE|SESSION_TOKEN|ENDPOINT_URL.*)$/.test(name)) delete process.env[name];
  process.env.AWS_ACCESS_KEY_ID = access.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = access.secretAccessKey;
  process.env.WORKTRACK_DEMO_API_KEY = DEMO_KEY;
}
