import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { selectResources } from '../../config/index.js';
import type { RunId } from '../../core/brands.js';
import { errorMessage } from '../../core/errors.js';
import { isRunId } from '../../core/run-id.js';
import { renderReport } from '../../report/index.js';
import { tryTemporal } from '../shared/context.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { duration, type GlobalOptions } from '../shared/options.js';
import { output } from '../shared/output.js';
import { chooseConnections, readSettings } from '../shared/settings.js';
import { writeAll } from '../shared/stdout.js';
import { UsageError } from '../shared/usage-error.js';
import { openInBrowser } from './open-in-browser.js';
import { type Chosen, readReport, readReports } from './report-data.js';

export interface ReportOptions extends GlobalOptions {
  readonly connections: readonly string[];
  readonly all?: boolean;
  readonly resource?: readonly string[];
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
  const runId = readRunId(options.run);
  const maxAgeMs = duration('--max-age', options.maxAge, '26h or 8d');
  const chosen = chooseConnections(readSettings(options), options).map((connection): Chosen => {
    const resources = selectResources(connection, options.resource).map(({ name }) => name);
    return { connection, resources };
  });
  const { code, page } = await render(options, chosen, { runId, maxAgeMs });
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

async function render(
  options: ReportOptions,
  chosen: readonly Chosen[],
  { runId, maxAgeMs }: { readonly runId: RunId | null; readonly maxAgeMs: number },
): Promise<{ code: ExitCode; page: string }> {
  const madeAt = Date.now();
  const [only, ...others] = chosen as [Chosen, ...Chosen[]];
  if (runId !== null) {
    if (others.length > 0) throw new UsageError('--run needs one connection; choose it with --connection');
    const report = await readReport(only, { runId, madeAt });
    if (report !== null)
      return { code: EXIT.done, page: renderReport({ madeAt, maxAgeMs, connections: [report] }) };
    throw new UsageError(
      `run ${runId} is not a published run of ${only.resources.join(', ')}; \`worktrack history\` lists the runs`,
    );
  }
  const temporal = await tryTemporal(options, 'Showing published runs only.');
  try {
    const { code, connections } = await readReports(temporal, chosen, madeAt);
    return { code, page: renderReport({ madeAt, maxAgeMs, connections }) };
  } finally {
    await temporal?.close();
  }
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

function readRunId(text: string | undefined): RunId | null {
  if (text === undefined) return null;
  if (isRunId(text)) return text;
  throw new UsageError(
    `--run must be a run id such as 20261121T020000Z-1a2b3c4d; found ${JSON.stringify(text)}`,
  );
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}
