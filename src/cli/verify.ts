import { selectResources } from '../config/index.js';
import { pointerKey } from '../lake/layout.js';
import { type VerifyReport, verifySnapshot } from '../lake/verify.js';
import { readConnection } from './context.js';
import { EXIT, type ExitCode } from './exit-code.js';
import { withLake } from './lake.js';
import type { GlobalOptions } from './options.js';
import { output, printJson } from './output.js';
import { count, counted } from './text.js';

export interface VerifyCommandOptions extends GlobalOptions {
  readonly resource?: readonly string[];
  readonly json?: boolean;
}

/** `worktrack verify`: re-reads what is published, resource by resource; ends with 1 when anything is wrong. */
export async function runVerify(options: VerifyCommandOptions): Promise<ExitCode> {
  const connection = readConnection(options);
  const resources = selectResources(connection, options.resource).map(({ name }) => name);
  return withLake(connection, async ({ store, reached }) => {
    const reports: VerifyReport[] = [];
    for (const resource of resources) {
      await reached(() => store.head(pointerKey(resource)));
      // It answers: what follows takes as long as the snapshot is large.
      const report = await verifySnapshot(store, resource);
      reports.push(report);
      if (options.json !== true) for (const line of reportLines(report)) output.out(line);
    }
    if (options.json === true) printJson({ connection: connection.name, resources: reports });
    return reports.every((report) => report.ok) ? EXIT.done : EXIT.failed;
  });
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
