import type { ConnectionSettings } from '../core/settings.js';
import { openStore } from '../lake/store/index.js';
import { type VerifyReport, verifySnapshot } from '../lake/verify.js';
import { readConnection } from './context.js';
import { EXIT, type ExitCode } from './exit-code.js';
import type { GlobalOptions } from './options.js';
import { output, printJson } from './output.js';
import { count, counted } from './text.js';
import { UsageError } from './usage-error.js';

export interface VerifyCommandOptions extends GlobalOptions {
  readonly resource?: readonly string[];
  readonly json?: boolean;
}

/** `worktrack verify`: re-reads what is published, resource by resource; ends with 1 when anything is wrong. */
export async function runVerify(options: VerifyCommandOptions): Promise<ExitCode> {
  const connection = readConnection(options);
  const store = openStore(connection.lake);
  try {
    const reports: VerifyReport[] = [];
    for (const resource of chosenResources(connection, options.resource)) {
      const report = await verifySnapshot(store, resource);
      reports.push(report);
      if (options.json !== true) for (const line of reportLines(report)) output.out(line);
    }
    if (options.json === true) printJson({ connection: connection.name, resources: reports });
    return reports.every((report) => report.ok) ? EXIT.done : EXIT.failed;
  } finally {
    store.close();
  }
}

function chosenResources(
  { name, resources }: ConnectionSettings,
  wanted?: readonly string[],
): readonly string[] {
  const known = resources.map((resource) => resource.name);
  const unknown = wanted?.find((resource) => !known.includes(resource));
  if (unknown !== undefined) {
    throw new UsageError(`connection "${name}" has no resource "${unknown}"; it has ${known.join(', ')}`);
  }
  return wanted ?? known;
}

function reportLines({ resource, runId, ok, parts, rows, bytes, problems }: VerifyReport): string[] {
  if (ok)
    return [
      `${resource}: good; run ${runId}, ${counted(rows, 'row')} in ${counted(parts, 'part')}, ${count(bytes)} bytes`,
    ];
  return [
    `${resource}: ${counted(problems.length, 'problem')}`,
    ...problems.map((problem) => `  ${problem}`),
  ];
}
