import { selectResources } from '../../config/index.js';
import { pointerKey } from '../../lake/published/layout.js';
import { type ObjectStore, StoreError } from '../../lake/store/index.js';
import type { EarlierRuns } from '../../lake/verify/earlier-runs.js';
import type { VerifyReport } from '../../lake/verify/verify.js';
import { verifyResource } from '../../table/index.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import { withLake } from '../shared/open-lake.js';
import type { GlobalOptions } from '../shared/options.js';
import { output, printJson } from '../shared/output.js';
import { readConnection } from '../shared/settings.js';
import { count, counted } from '../shared/text.js';

export interface VerifyCommandOptions extends GlobalOptions {
  readonly resource?: readonly string[];
  readonly json?: boolean;
}

/** `worktrack verify`: rereads the published data of each resource; exits with 1 if it finds a problem. */
export async function runVerify(options: VerifyCommandOptions): Promise<ExitCode> {
  const connection = readConnection(options);
  const resources = selectResources(connection, options.resource).map(({ name }) => name);
  return withLake(connection, async ({ store, retry }) => {
    const reports: VerifyReport[] = [];
    for (const resource of resources) {
      await retry(() => probe(store, resource));
      // The lake answers. Verification has no time limit, because it takes longer the larger the snapshot is.
      const report = await verifyResource(store, connection, resource);
      reports.push(report);
      if (options.json !== true) for (const line of reportLines(report)) output.out(line);
    }
    if (options.json === true) printJson({ connection: connection.name, resources: reports });
    return reports.every((report) => report.ok) ? EXIT.done : EXIT.failed;
  });
}

/** Only whether the store answers: an object that it refuses is a finding. */
async function probe(store: ObjectStore, resource: string): Promise<void> {
  try {
    await store.head(pointerKey(resource));
  } catch (error) {
    if (!(error instanceof StoreError) || error.kind !== 'other') throw error;
  }
}

function reportLines(report: VerifyReport): string[] {
  const { resource, runId, ok, parts, rows, bytes, problems, notes, earlier, recovery } = report;
  const told = notes.map((note) => `  note: ${note}`);
  if (ok)
    return [
      `${resource}: ok; run ${runId}, ${counted(rows, 'row')} in ${counted(parts, 'part')}, ${count(bytes)} bytes`,
      ...told,
    ];
  return [
    `${resource}: ${counted(problems.length, 'problem')}${runId === null ? '' : ` in run ${runId}`}`,
    ...problems.map((problem) => `  ${problem}`),
    ...told,
    ...(earlier === null ? [] : earlierLines(earlier)),
    ...recovery.map((step) => `  To recover: ${step}`),
  ];
}

function earlierLines({ intact, damaged, unchecked }: EarlierRuns): string[] {
  const kinds: [string, readonly string[]][] = [
    ['Intact earlier runs', intact],
    ['Damaged earlier runs', damaged],
    ['Earlier runs that were not read', unchecked],
  ];
  const lines = kinds
    .filter(([, runs]) => runs.length > 0)
    .map(([what, runs]) => `  ${what}: ${runs.join(', ')}`);
  return intact.length > 0 ? lines : ['  Intact earlier runs: none', ...lines];
}
