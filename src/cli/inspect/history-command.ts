import { selectResources } from '../../config/index.js';
import type { EpochMs } from '../../core/brands.js';
import { DEFAULT_MAX_AGE_MS } from '../../core/data-age.js';
import { formatDuration } from '../../core/duration.js';
import type { ResourceFacts } from '../../core/find-problems.js';
import { factsOfRuns, judgeResource, STATE_NAMES, worstOf } from '../../core/resource-state.js';
import type { ConnectionSettings } from '../../core/settings.js';
import type { ObjectStore } from '../../lake/store/index.js';
import { type LoggedRun, readRunLog } from '../../temporal/status/run-log.js';
import { EXIT, type ExitCode } from '../shared/choose-exit-code.js';
import { positive, type SeveralOptions } from '../shared/command-options.js';
import { withOptionalTemporal } from '../shared/context.js';
import {
  type ConnectionSummary,
  chooseConnections,
  onConnections,
  printEnded,
  readSettings,
} from '../shared/each-connection.js';
import { withAnsweringLake } from '../shared/open-lake.js';
import {
  age,
  clip,
  count,
  counted,
  fittedTables,
  output,
  printJson,
  terminalWidth,
} from '../shared/output.js';
import { unknownRuns } from './unknown-runs.js';

interface ResourceHistory {
  readonly name: string;
  /** Newest first. */
  readonly runs: readonly LoggedRun[];
}

/** `worktrack history`: the last runs; published ones from the lake, failed and running ones from Temporal. */
export async function runHistory(options: SeveralOptions & { readonly limit: string }): Promise<ExitCode> {
  const chosen = chooseConnections(readSettings(options), options);
  const limit = positive('--limit', options.limit);
  return withOptionalTemporal(options, 'Showing published runs only.', async (temporal) => {
    const unknown = unknownRuns(temporal);
    const read = async (connection: ConnectionSettings, timeoutMs?: number): Promise<ResourceHistory[]> => {
      const resources = selectResources(connection, options.resource).map(({ name }) => name);
      const wanted = { resources, limit, onUnknown: unknown.add };
      const readLog = (store: ObjectStore) => readRunLog(temporal, connection, store, wanted);
      const logs = await withAnsweringLake(connection, resources[0] ?? 'none', readLog, timeoutMs);
      return resources.map((name, at) => ({ name, runs: logs[at] ?? [] }));
    };
    const code = await onConnections(chosen, read, options, {
      one(histories, { name }) {
        if (options.json === true) printJson({ connection: name, ...historyJson(histories) });
        else for (const line of historyLines(histories, Date.now())) output.out(line);
        return EXIT.done;
      },
      several: (ended) =>
        printEnded(ended, options, (histories) => historySummary(histories, Date.now()), historyJson),
    });
    unknown.note();
    return code;
  });
}

const HEADER = [
  ...['STARTED', 'MODE', 'OUTCOME', 'ROWS', 'INSERTED', 'UPDATED', 'DELETED'],
  ...['TOOK', 'WARNINGS', 'RUN'],
];
const NUMBERS = [3, 4, 5, 6, 7, 8];
/** Columns that a narrow terminal leaves out: `--json` has them. The run id stays, because other commands take it. */
const OPTIONAL = [8, 1, 7, 6, 5, 4];
const INDENT = 2;
const LONGEST_REASON = 300;

/** The object that `history --json` prints. Times are ISO 8601. */
export function historyJson(histories: readonly ResourceHistory[]): object {
  return {
    resources: histories.map(({ name, runs }) => ({
      name,
      runs: runs.map(
        ({ runId, outcome, mode, startedAt, endedAt, counts, warnings, checks, error, rolledBack }) => ({
          runId,
          outcome,
          rolledBack: rolledBack === true,
          mode,
          startedAt: new Date(startedAt).toISOString(),
          endedAt: endedAt === null ? null : new Date(endedAt).toISOString(),
          rows: counts?.rows ?? null,
          counts,
          warnings,
          checks: checks ?? null,
          error,
        }),
      ),
    })),
  };
}

/**
 * A table per resource, newest run first, with the reasons of failures below.
 */
function historyLines(histories: readonly ResourceHistory[], now: EpochMs): string[] {
  const tables = fittedTables(
    histories.map(({ runs }) => [HEADER, ...runs.map((run) => cells(run, now))]),
    { right: NUMBERS, optional: OPTIONAL, width: terminalWidth() - INDENT },
  );
  return histories.flatMap(({ name, runs }, i) => {
    const title = [...(i === 0 ? [] : ['']), name];
    if (runs.length === 0) return [...title, '  no runs yet'];
    const reasons = runs.flatMap((run) =>
      reasonsOf(run).map((what) => `  ${age(now - run.startedAt)} ago: ${clip(what, LONGEST_REASON)}`),
    );
    return [...title, ...tables[i]!.map((line) => `  ${line}`), ...reasons];
  });
}

/** Why a run was not published, or what about it was not as usual. */
function reasonsOf({ error, counts, checks = [] }: LoggedRun): string[] {
  if (error !== null) return [error.message];
  const { restated = 0, missed = 0 } = counts ?? {};
  const unusual = checks.filter(({ outcome }) => outcome === 'warned' || outcome === 'accepted');
  return [
    ...(restated === 0 ? [] : [`restated ${counted(restated, 'row')}, because settings changed`]),
    ...(missed === 0 ? [] : [`${counted(missed, 'row')} that increments had missed`]),
    ...unusual.map(({ name, outcome, found }) => `check ${name} ${outcome}: ${found}`),
  ];
}

function cells(
  { startedAt, endedAt, mode, outcome, counts, warnings, runId, rolledBack }: LoggedRun,
  now: number,
): string[] {
  const number = (value: number | undefined): string => (value === undefined ? '-' : count(value));
  const end = outcome === 'running' ? now : endedAt;
  return [
    `${age(now - startedAt)} ago`,
    mode ?? '-',
    rolledBack === true ? 'rolled back' : outcome,
    number(counts?.rows),
    number(counts?.inserted),
    number(counts?.updated),
    number(counts?.deleted),
    end === null ? '-' : formatDuration(Math.max(0, Math.round((end - startedAt) / 1000)) * 1000),
    warnings.length === 0 ? '-' : count(warnings.length),
    runId ?? '-',
  ];
}

/** The state of a connection's worst resource in one line, as its runs show it. */
export function historySummary(
  histories: readonly ResourceHistory[],
  now: EpochMs,
): Omit<ConnectionSummary, 'name'> {
  const limit = { maxAgeMs: DEFAULT_MAX_AGE_MS, at: now };
  const judged = histories.map(({ name, runs }) => ({ name, ...judgeResource(factsOf(runs), limit) }));
  const worst = worstOf(judged);
  const [first] = worst;
  const problem = first?.isProblem === true;
  const names = worst.map(({ name }) => name).join(', ');
  const last = histories.flatMap(({ runs }) => runs.slice(0, 1));
  return {
    code: EXIT.done,
    problem,
    state: STATE_NAMES[first?.state ?? 'never-run'],
    detail: [lastText(last, now), ...(problem ? [`${names}: ${first.cause ?? ''}`] : [])].join('; '),
    lines: historyLines(histories, now),
  };
}

function factsOf(runs: readonly LoggedRun[]): ResourceFacts {
  const newest = runs.find(({ outcome }) => outcome === 'published');
  const published =
    newest?.published === undefined ? null : { ...newest.published, startedAt: newest.startedAt };
  return factsOfRuns(
    published,
    runs.filter(({ outcome }) => outcome !== 'published'),
  );
}

function lastText(last: readonly LoggedRun[], now: number): string {
  if (last.length === 0) return 'nothing has run';
  const newest = Math.max(...last.map(({ startedAt }) => startedAt));
  return `last run ${age(now - newest)} ago, ${counted(last.length, 'resource')}`;
}
