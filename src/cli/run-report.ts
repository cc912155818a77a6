import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { selectResources } from '../config/index.js';
import type { RunId } from '../core/brands.js';
import type { ConnectionSettings } from '../core/settings.js';
import { isRunId } from '../lake/run-id.js';
import { reportOf } from '../report/index.js';
import { readConnection } from './context.js';
import { EXIT, type ExitCode } from './exit-code.js';
import { withLake } from './lake.js';
import { openInBrowser } from './open-in-browser.js';
import type { GlobalOptions } from './options.js';
import { output } from './output.js';
import { writeAll } from './stdout.js';
import { UsageError } from './usage-error.js';

export interface ReportOptions extends GlobalOptions {
  readonly resource?: readonly string[];
  readonly run?: string;
  readonly open?: boolean;
  readonly out?: string;
}

/** `worktrack report`: one page on what was published, from the lake alone; on stdout unless told otherwise. */
export async function runReport(options: ReportOptions): Promise<ExitCode> {
  const runId = readRunId(options.run);
  const connection = readConnection(options);
  const resources = selectResources(connection, options.resource).map(({ name }) => name);
  const page = await render(connection, resources, runId);
  const file = options.out ?? (options.open === true ? await temporaryFile() : null);
  if (file === null) {
    await writeAll(once(page));
    return EXIT.done;
  }
  await save(file, page);
  output.note(`The report is in ${file}`);
  if (options.open === true) await openInBrowser(file);
  return EXIT.done;
}

async function render(
  connection: ConnectionSettings,
  resources: readonly string[],
  runId: RunId | null,
): Promise<string> {
  const page = await withLake(connection, ({ store, reached }) =>
    reached(() => reportOf(store, { connection: connection.name, resources, runId, madeAt: Date.now() })),
  );
  if (page !== null) return page;
  throw new UsageError(
    `run ${runId} is not among the published runs of ${resources.join(', ')}; \`worktrack report\` lists the last ones`,
  );
}

async function save(file: string, page: string): Promise<void> {
  try {
    await writeFile(file, page);
  } catch (error) {
    throw new UsageError(`--out ${file} cannot be written: ${(error as Error).message}`);
  }
}

async function temporaryFile(): Promise<string> {
  return join(await mkdtemp(join(tmpdir(), 'worktrack-report-')), 'report.html');
}

function readRunId(text: string | undefined): RunId | null {
  if (text === undefined) return null;
  if (isRunId(text)) return text;
  throw new UsageError(`--run must be a run like 20261121T020000Z-1a2b3c4d; found ${JSON.stringify(text)}`);
}

async function* once(text: string): AsyncGenerator<string> {
  yield text;
}
