import { spawn } from 'node:child_process';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { selectResources } from '../../config/index.js';
import type { RunId } from '../../core/brands.js';
import { errorMessage } from '../../core/errors.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { pointerKey } from '../../lake/documents/lake-layout.js';
import {
  type ConnectionReport,
  type KnownFromTemporal,
  REPORTED_RUNS,
  readConnectionReport,
  renderReport,
  resourceReport,
} from '../../report/index.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { readTemporalRuns } from '../../temporal/status/run-log.js';
import { EXIT, type ExitCode, UsageError, worstExitCode } from '../shared/choose-exit-code.js';
import { duration, runIdOption, type SeveralOptions } from '../shared/command-options.js';
import { tryTemporal } from '../shared/context.js';
import { chooseConnections, eachConnection, endedCode, readSettings } from '../shared/each-connection.js';
import { withLake } from '../shared/open-lake.js';
import { output, writeAll } from '../shared/output.js';
import { openStatus, readConnectionStatus, type StatusSource } from './read-status.js';

export interface ReportOptions extends SeveralOptions {
  readonly resource?: readonly string[];
  readonly run?: string;
  readonly maxAge: string;
  readonly open?: boolean;
  readonly out?: string;
}

/** A connection of the report, and those of its resources that are on the page. */
interface Chosen {
  readonly connection: ConnectionSettings;
  readonly resources: readonly string[];
}

/**
 * `worktrack report`: an HTML report on the runs of one or more connections, on stdout by default. Published runs come from
 * the lake, failed and running ones from Temporal.
 */
export async function runReport(options: ReportOptions): Promise<ExitCode> {
  const runId = options.run === undefined ? null : runIdOption('--run', options.run);
  const maxAgeMs = duration('--max-age', options.maxAge, '26h or 8d');
  const settings = readSettings(options);
  const chosen = chooseConnections(settings, options).map((connection): Chosen => {
    const resources = selectResources(connection, options.resource).map(({ name }) => name);
    return { connection, resources };
  });
  const { code, page } = await render(options, chosen, { runId, maxAgeMs, source: settings.source });
  const file = options.out ?? (options.open === true ? await temporaryFile() : null);
  if (file === null) {
    await writeAll(once(page));
    return code;
  }
  await save(file, page);
  output.note(`The report is in ${file}`);
  if (options.open === true) await openInBrowser(file);
  return code;
}

interface RenderOptions {
  readonly runId: RunId | null;
  readonly maxAgeMs: number;
  /** The configuration file. */
  readonly source: string;
}

async function render(
  options: ReportOptions,
  chosen: readonly Chosen[],
  { runId, maxAgeMs, source }: RenderOptions,
): Promise<{ code: ExitCode; page: string }> {
  const madeAt = Date.now();
  const [only, ...others] = chosen as [Chosen, ...Chosen[]];
  if (runId !== null) {
    if (others.length > 0) throw new UsageError('--run needs one connection; choose it with --connection');
    const report = await readReport(only, { runId, madeAt, maxAgeMs });
    if (report !== null)
      return { code: EXIT.done, page: renderReport({ madeAt, maxAgeMs, connections: [report] }) };
    throw new UsageError(
      `run ${runId} is not a published run of ${only.resources.join(', ')}; \`worktrack history\` lists the runs`,
    );
  }
  const temporal = await tryTemporal(options, 'Showing published runs only.');
  try {
    const { code, connections } = await readReports(
      await openStatus(temporal, source, options.taskQueue),
      chosen,
      {
        madeAt,
        maxAgeMs,
      },
    );
    return { code, page: renderReport({ madeAt, maxAgeMs, connections }) };
  } finally {
    await temporal?.close();
  }
}

/**
 * Reads the report's data of each connection. A single connection whose lake cannot be read is an error. Of several, it
 * appears on the page with the reason, and the exit code is the worst of these.
 */
async function readReports(
  from: StatusSource,
  chosen: readonly Chosen[],
  { madeAt, maxAgeMs }: { readonly madeAt: number; readonly maxAgeMs: number },
): Promise<{ code: ExitCode; connections: readonly ConnectionReport[] }> {
  const resourcesOf = new Map(chosen.map(({ connection, resources }) => [connection, resources]));
  const knownOf = new Map<ConnectionSettings, KnownFromTemporal>();
  const read = async (connection: ConnectionSettings, timeoutMs?: number): Promise<ConnectionReport> => {
    const one = { connection, resources: resourcesOf.get(connection)! };
    const { resources } = one;
    const runs = await unpublishedRuns(from.temporal, one);
    knownOf.set(connection, runs);
    const status = await readConnectionStatus(from, connection, { resource: resources, timeoutMs, maxAgeMs });
    const known = { ...runs, verdicts: new Map(status.resources.map((judged) => [judged.name, judged])) };
    return (await readReport(one, { runId: null, madeAt, maxAgeMs, known, timeoutMs }))!;
  };
  if (chosen.length === 1) return { code: EXIT.done, connections: [await read(chosen[0]!.connection)] };
  const ended = await eachConnection([...resourcesOf.keys()], read, ({ connection, failure }) => {
    if (failure !== null) output.note(`${connection.name}: ${failure.message}`);
  });
  return {
    code: worstExitCode(ended.map((one) => endedCode(one, () => EXIT.done))),
    connections: ended.map(({ connection, result, failure }) => {
      if (failure === null) return result;
      const one = { connection, resources: resourcesOf.get(connection)! };
      return unreadableLake(one, { known: knownOf.get(connection)!, madeAt, problem: failure.message });
    }),
  };
}

async function unpublishedRuns(
  temporal: TemporalClient | null,
  { connection, resources }: Chosen,
): Promise<KnownFromTemporal> {
  if (temporal === null) return { coverage: 'no-temporal', runs: [] };
  return readTemporalRuns(temporal, connection.name, { resources, limit: REPORTED_RUNS });
}

interface ReadOptions {
  readonly runId: RunId | null;
  readonly madeAt: number;
  readonly maxAgeMs: number;
  readonly known?: KnownFromTemporal;
  readonly timeoutMs?: number | undefined;
}

/** @returns `null` if no resource has published the run `runId` */
function readReport(
  { connection, resources }: Chosen,
  { runId, madeAt, maxAgeMs, known, timeoutMs }: ReadOptions,
): Promise<ConnectionReport | null> {
  return withLake(
    connection,
    async ({ store, retry }) => {
      await retry(() => store.head(pointerKey(resources[0]!)));
      // The lake answers. The following call has no time limit, because it takes longer the more resources there are.
      return readConnectionReport(
        store,
        { connection: connection.name, baseUrl: connection.baseUrl, resources, runId, madeAt, maxAgeMs },
        known,
      );
    },
    timeoutMs,
  );
}

function unreadableLake(
  { connection, resources }: Chosen,
  { known, madeAt, problem }: { known: KnownFromTemporal; madeAt: number; problem: string },
): ConnectionReport {
  const options = { at: madeAt, unpublished: known.runs, problem };
  return {
    connection: connection.name,
    lake: connection.lake.url,
    coverage: known.coverage,
    resources: resources.map((resource) => resourceReport(resource, [], options)),
  };
}

async function save(file: string, page: string): Promise<void> {
  try {
    await writeFile(file, page);
  } catch (error) {
    throw new UsageError(`cannot write --out ${file}: ${errorMessage(error)}`);
  }
}

async function temporaryFile(): Promise<string> {
  return join(await mkdtemp(join(tmpdir(), 'worktrack-report-')), 'report.html');
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}

/** Opens a file with `$BROWSER`, or with the system's default. Prints a note if there is neither. */
async function openInBrowser(file: string): Promise<void> {
  const url = pathToFileURL(resolve(file)).href;
  const [command, args] = opener(url);
  await new Promise<void>((done) => {
    const child = spawn(command, args, { detached: true, stdio: 'ignore' });
    child.once('spawn', () => {
      child.unref();
      done();
    });
    child.once('error', () => {
      output.note(`Cannot start a browser with ${command}. Open ${url} yourself.`);
      done();
    });
  });
}

function opener(url: string): [command: string, args: string[]] {
  const { BROWSER } = process.env;
  if (BROWSER !== undefined && BROWSER !== '') return [BROWSER, [url]];
  if (process.platform === 'darwin') return ['open', [url]];
  if (process.platform === 'win32') return ['rundll32', ['url.dll,FileProtocolHandler', url]];
  return ['xdg-open', [url]];
}
