import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { selectResources } from '../../config/index.js';
import type { RunId } from '../../core/brands.js';
import { isRunId } from '../../core/run-id.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { createReport } from '../../report/index.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { withLake } from '../shared/open-lake.js';
import type { GlobalOptions } from '../shared/options.js';
import { output } from '../shared/output.js';
import { readConnection } from '../shared/settings.js';
import { writeAll } from '../shared/stdout.js';
import { UsageError } from '../shared/usage-error.js';
import { openInBrowser } from './open-in-browser.js';

export interface ReportOptions extends GlobalOptions {
  readonly resource?: readonly string[];
  readonly run?: string;
  readonly open?: boolean;
  readonly out?: string;
}

/** `worktrack report`: an HTML report on the published runs, read from the lake only; on stdout by default. */
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
  const page = await withLake(connection, ({ store, retry }) =>
    retry(() => createReport(store, { connection: connection.name, resources, runId, madeAt: Date.now() })),
  );
  if (page !== null) return page;
  throw new UsageError(
    `run ${runId} is not a published run of ${resources.join(', ')}; \`worktrack history\` lists the runs`,
  );
}

async function save(file: string, page: string): Promise<void> {
  try {
    await writeFile(file, page);
  } catch (error) {
    throw new UsageError(`cannot write --out ${file}: ${(error as Error).message}`);
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
