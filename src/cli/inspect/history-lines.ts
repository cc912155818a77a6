import { formatDuration } from '../../core/duration.js';
import type { LoggedRun } from '../../temporal/status/run-log.js';
import { terminalWidth } from '../shared/terminal.js';
import { age, clip, count, counted, fittedTables } from '../shared/text.js';
import type { ResourceHistory } from './history.js';

const HEADER = ['STARTED', 'MODE', 'OUTCOME', 'ROWS', 'NEW', 'CHANGED', 'GONE', 'TOOK', 'WARNINGS', 'RUN'];
const NUMBERS = [3, 4, 5, 6, 7, 8];
/** Columns that a narrow terminal leaves out: `--json` has them. The run id stays, because other commands take it. */
const OPTIONAL = [8, 1, 7, 6, 5, 4];
const INDENT = 2;
const LONGEST_REASON = 300;

/** The object that `history --json` prints. Times are ISO 8601. */
export function historyJson(connection: string, histories: readonly ResourceHistory[]): object {
  return {
    connection,
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
 *
 * @param now milliseconds since 1970
 * @param width longest line of a table
 */
export function historyLines(
  histories: readonly ResourceHistory[],
  now: number,
  width: number = terminalWidth(),
): string[] {
  const tables = fittedTables(
    histories.map(({ runs }) => [HEADER, ...runs.map((run) => cells(run, now))]),
    { right: NUMBERS, optional: OPTIONAL, width: width - INDENT },
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
  const restated = restatedText(counts?.restated ?? 0);
  const unusual = checks.filter(({ outcome }) => outcome === 'warned' || outcome === 'accepted');
  return [
    ...(restated === null ? [] : [restated]),
    ...unusual.map(({ name, outcome, found }) => `check ${name} ${outcome}: ${found}`),
  ];
}

function restatedText(rows: number): string | null {
  return rows === 0 ? null : `restated ${counted(rows, 'row')}, because settings changed`;
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
