import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { selectResources } from '../../config/index.js';
import type { RunId } from '../../core/brands.js';
import { errorMessage } from '../../core/errors.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { ObjectStore } from '../../lake/store/index.js';
import {
  type ConnectionReport,
  type KnownFromTemporal,
  REPORTED_RUNS,
  readConnectionReport,
  renderReport,
  resourceReport,
} from '../../report/index.js';
import { readTemporalRuns } from '../../temporal/status/run-log.js';
import { EXIT, type ExitCode, UsageError, worstExitCode } from '../shared/choose-exit-code.js';
import { durationOption, runIdOption, type SeveralOptions } from '../shared/command-options.js';
import { withOptionalTemporal } from '../shared/context.js';
import { chooseConnections, eachConnection, readSettings } from '../shared/each-connection.js';
import { withAnsweringLake } from '../shared/open-lake.js';
import { output, writeAll } from '../shared/output.js';
import { openStatus } from './read-status.js';
import { unknownRuns } from './unknown-runs.js';

interface ReportOptions extends SeveralOptions {
  readonly run?: string;
  readonly maxAge: string;
  readonly open?: boolean;
  readonly out?: string;
}

/**
 * `worktrack report`: an HTML report on the runs of one or more connections, on stdout by default. Published runs come from
 * the lake, failed and running ones from Temporal.
 */
export async function runReport(options: ReportOptions): Promise<ExitCode> {
  const runId = options.run === undefined ? null : runIdOption('--run', options.run);
  const maxAgeMs = durationOption('--max-age', options.maxAge, '26h or 8d');
  const settings = readSettings(options);
  // With the resources that are on the page.
  const chosen = chooseConnections(settings, options).map((connection): ConnectionSettings => {
    return { ...connection, resources: selectResources(connection, options.resource) };
  });
  const times = { madeAt: Date.now(), maxAgeMs };
  const { code, connections } =
    runId === null
      ? await readReports(options, settings.source, chosen, times)
      : { code: EXIT.done, connections: [await reportOfRun(chosen, runId, times)] };
  const page = renderReport({ ...times, connections });
  const file =
    options.out ??
    (options.open === true ? join(await mkdtemp(join(tmpdir(), 'worktrack-report-')), 'report.html') : null);
  if (file === null) {
    await writeAll([page]);
    return code;
  }
  await writeFile(file, page).catch((error: unknown) => {
    throw new UsageError(`cannot write --out ${file}: ${errorMessage(error)}`);
  });
  output.note(`The report is in ${file}`);
  if (options.open === true) await openInBrowser(file);
  return code;
}

interface Times {
  readonly madeAt: number;
  readonly maxAgeMs: number;
}

async function reportOfRun(
  chosen: readonly ConnectionSettings[],
  runId: RunId,
  times: Times,
): Promise<ConnectionReport> {
  const [only, ...others] = chosen as [ConnectionSettings, ...ConnectionSettings[]];
  if (others.length > 0) throw new UsageError('--run needs one connection; choose it with --connection');
  const report = await readReport(only, { ...times, runId });
  if (report !== null) return report;
  throw new UsageError(
    `run ${runId} is not a published run of ${namesOf(only).join(', ')}; \`worktrack history\` lists the runs`,
  );
}

/**
 * Reads the report's data of each connection. A single connection whose lake cannot be read is an error. Of several, it
 * appears on the page with the reason, and the exit code is the worst of these.
 */
async function readReports(
  options: ReportOptions,
  source: string,
  chosen: readonly ConnectionSettings[],
  times: Times,
): Promise<{ code: ExitCode; connections: readonly ConnectionReport[] }> {
  return withOptionalTemporal(options, 'Showing published runs only.', async (temporal) => {
    const unknown = unknownRuns(temporal);
    const names = chosen.map(({ name }) => name);
    const { maxAgeMs } = times;
    const readStatus = await openStatus(temporal, source, names, maxAgeMs, unknown.add, options.taskQueue);
    const runsOf = new Map<ConnectionSettings, KnownFromTemporal>();
    const read = async (connection: ConnectionSettings, timeoutMs?: number): Promise<ConnectionReport> => {
      const wanted = { resources: namesOf(connection), limit: REPORTED_RUNS, onUnknown: unknown.add };
      const runs: KnownFromTemporal =
        temporal === null
          ? { coverage: 'no-temporal', runs: [] }
          : await readTemporalRuns(temporal, connection.name, wanted);
      runsOf.set(connection, runs);
      const { resources } = await readStatus(connection, undefined, timeoutMs);
      const verdicts = new Map(resources.map((judged) => [judged.name, judged]));
      return (await readReport(connection, { ...times, runId: null }, { ...runs, verdicts }, timeoutMs))!;
    };
    if (chosen.length === 1) {
      const connections = [await read(chosen[0]!)];
      unknown.note();
      return { code: EXIT.done, connections };
    }
    const ended = await eachConnection(chosen, read, ({ connection, failure }) => {
      if (failure !== null) output.paragraph(`${connection.name}: ${failure.message}`);
    });
    unknown.note();
    return {
      code: worstExitCode(ended.map(({ failure }) => failure?.code ?? EXIT.done)),
      connections: ended.map(
        ({ connection, result, failure }) =>
          result ?? unreadableLake(connection, runsOf.get(connection)!, times.madeAt, failure.message),
      ),
    };
  });
}

function namesOf({ resources }: ConnectionSettings): string[] {
  return resources.map(({ name }) => name);
}

/** @returns `null` if no resource has published the run `runId` */
function readReport(
  connection: ConnectionSettings,
  request: Times & { readonly runId: RunId | null },
  known?: KnownFromTemporal,
  timeoutMs?: number,
): Promise<ConnectionReport | null> {
  const { name, baseUrl } = connection;
  const resources = namesOf(connection);
  const wanted = { ...request, connection: name, baseUrl, resources };
  const read = (store: ObjectStore) => readConnectionReport(store, wanted, known);
  return withAnsweringLake(connection, resources[0]!, read, timeoutMs);
}

function unreadableLake(
  connection: ConnectionSettings,
  { runs, coverage }: KnownFromTemporal,
  at: number,
  problem: string,
): ConnectionReport {
  const options = { at, unpublished: runs, problem };
  const resources = namesOf(connection).map((resource) => resourceReport(resource, [], options));
  return { connection: connection.name, lake: connection.lake.url, coverage, resources };
}

/** Opens a file with `$BROWSER`, or with the system's default. Prints a note if there is neither. */
async function openInBrowser(file: string): Promise<void> {
  const url = pathToFileURL(resolve(file)).href;
  const [command, args] = opener(url);
  const child = spawn(command, args, { detached: true, stdio: 'ignore' });
  await once(child, 'spawn').then(
    () => child.unref(),
    () => output.note(`Cannot start a browser with ${command}. Open ${url} yourself.`),
  );
}

function opener(url: string): [command: string, args: string[]] {
  const { BROWSER } = process.env;
  if (BROWSER !== undefined && BROWSER !== '') return [BROWSER, [url]];
  if (process.platform === 'darwin') return ['open', [url]];
  if (process.platform === 'win32') return ['rundll32', ['url.dll,FileProtocolHandler', url]];
  return ['xdg-open', [url]];
}
