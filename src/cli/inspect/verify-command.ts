import { selectResources } from '../../config/index.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { summaryOf, summaryText } from '../../lake/documents/check-record.js';
import { pointerKey } from '../../lake/documents/lake-layout.js';
import { type ObjectStore, StoreError } from '../../lake/store/index.js';
import type { EarlierRuns } from '../../lake/verify/read-runs.js';
import type { VerifyReport } from '../../lake/verify/verify-lake.js';
import { verifyResource } from '../../table/index.js';
import { EXIT, type ExitCode } from '../shared/choose-exit-code.js';
import type { SeveralOptions } from '../shared/command-options.js';
import {
  type ConnectionSummary,
  chooseConnections,
  onConnections,
  printEnded,
  readSettings,
} from '../shared/each-connection.js';
import { type OpenLake, withLake } from '../shared/open-lake.js';
import { count, counted, output, printJson } from '../shared/output.js';

/** `worktrack verify`: rereads the published data of each resource; exits with 1 if it finds a problem. */
export async function runVerify(options: SeveralOptions): Promise<ExitCode> {
  const chosen = chooseConnections(readSettings(options), options);
  const { resource, json } = options;
  const verify = (connection: ConnectionSettings, timeoutMs?: number) => {
    // Of one connection, each report is printed when it is there, because the next one may take long.
    const isPrinted = json !== true && timeoutMs === undefined;
    const onReport = (report: VerifyReport): void => {
      if (isPrinted) for (const line of reportLines(report)) output.out(line);
    };
    return verifyConnection(connection, resource, onReport, timeoutMs);
  };
  return onConnections(chosen, verify, options, {
    one(reports, { name }) {
      if (json === true) printJson({ connection: name, ...jsonOf(reports) });
      return codeOf(reports);
    },
    several: (ended) => printEnded(ended, options, summaryOfReports, jsonOf),
  });
}

function summaryOfReports(reports: readonly VerifyReport[]): Omit<ConnectionSummary, 'name'> {
  const code = codeOf(reports);
  const rows = reports.reduce((sum, report) => sum + report.rows, 0);
  const damaged = reports.filter(({ ok }) => !ok).map(({ resource }) => resource);
  const [state, detail] =
    damaged.length === 0
      ? ['ok', `${counted(reports.length, 'resource')}, ${counted(rows, 'row')}`]
      : ['damaged', damaged.join(', ')];
  return { code, problem: code !== EXIT.done, state, detail, lines: reports.flatMap(reportLines) };
}

function verifyConnection(
  connection: ConnectionSettings,
  wanted: readonly string[] | undefined,
  onReport: (report: VerifyReport) => void,
  timeoutMs?: number,
): Promise<VerifyReport[]> {
  const resources = selectResources(connection, wanted).map(({ name }) => name);
  const verifyAll = async ({ store, retry }: OpenLake): Promise<VerifyReport[]> => {
    const reports: VerifyReport[] = [];
    for (const resource of resources) {
      await retry(() => probe(store, resource));
      // The lake answers. Verification has no time limit, because it takes longer the larger the snapshot is.
      const report = await verifyResource(store, connection, resource);
      reports.push(report);
      onReport(report);
    }
    return reports;
  };
  return withLake(connection, verifyAll, timeoutMs);
}

function codeOf(reports: readonly VerifyReport[]): ExitCode {
  return reports.every((report) => report.ok) ? EXIT.done : EXIT.failed;
}

/** In JSON, an element of `resources` has its `name`, as in `status`. */
export function jsonOf(reports: readonly VerifyReport[]): object {
  return { resources: reports.map(({ resource: name, ...report }) => ({ name, ...report })) };
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
  const { resource, runId, ok, parts, rows, bytes, checks, problems, notes, earlier, recovery } = report;
  const checked = checks === null ? [] : [`  checks: ${summaryText(summaryOf(checks))}`];
  const told = [...checked, ...notes.map((note) => `  note: ${note}`)];
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
