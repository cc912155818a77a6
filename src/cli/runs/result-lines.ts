import { formatBytes } from '../../core/bytes.js';
import type { DryRunReport, ExportResult, RunCounts, RunReport } from '../../core/contract/index.js';
import { deletesNote } from '../../core/delete-detection.js';
import { groupBy } from '../../core/group-by.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { viewName } from '../../core/view-name.js';
import { EXIT, type ExitCode, exitCodeOf } from '../shared/choose-exit-code.js';
import type { SeveralOptions } from '../shared/command-options.js';
import type { ConnectionSummary } from '../shared/each-connection.js';
import {
  count,
  counted,
  named,
  output,
  printJson,
  printJsonLine,
  table,
  terminalWidth,
} from '../shared/output.js';
import { auditJson, auditSummary, auditText } from './audit-lines.js';

interface Diff {
  /** Whether the command has printed the cells that would change. Absent: no. */
  readonly diff?: boolean;
}

/** Prints the result of an export or backfill. */
export function printResult(
  result: ExportResult,
  {
    what,
    options,
  }: { readonly what: string; readonly options: Pick<SeveralOptions, 'json' | 'details'> & Diff },
  { name, lake }: ConnectionSettings,
): ExitCode {
  const lines = options.details === true ? detailedLines(result, lake.url) : publishedLines(result);
  printLines(withConnection(result, name), lines, options);
  if (options.json !== true) for (const line of whereLines(result, lake.url)) output.note(line);
  if (result.statement !== undefined) output.note(`Statement: ${lake.url}/${result.statement}`);
  if (result.outcome === 'cancelled') output.note(`The ${what} was cancelled. Published data stays.`);
  return exitCodeOf(result);
}

/** Prints a result as JSON or as these lines, and its warnings, notes and errors on stderr. */
export function printLines(
  result: ExportResult,
  lines: readonly string[],
  { json, diff }: Pick<SeveralOptions, 'json'> & Diff,
): void {
  // The result follows the cells of the diff, with one cell in each line.
  if (json === true) (diff === true ? printJsonLine : printJson)(auditJson(result) ?? result);
  else for (const line of lines) output.out(line);
  for (const line of diagnosticLines(result)) output.note(line);
}

/** The result of one connection's export in one line. */
export function resultSummary(result: ExportResult, lakeUrl: string): Omit<ConnectionSummary, 'name'> {
  const { outcome, runs } = result;
  const code = exitCodeOf(result);
  if (runs.some(({ audit }) => audit !== undefined)) return auditSummary(result, publishedLines(result));
  const sum = (of: (run: RunReport) => number): number => runs.reduce((all, run) => all + of(run), 0);
  const changed = (name: 'inserted' | 'updated' | 'deleted' | 'restated'): number =>
    sum(({ counts }) => counts?.[name] ?? 0);
  const [inserted, updated, deleted] = [changed('inserted'), changed('updated'), changed('deleted')];
  const [rows, warnings] = [sum((run) => run.rows ?? 0), sum((run) => run.warnings.length)];
  const diagnostics = diagnosticLines(result);
  const figures = [
    counted(runs.length, 'resource'),
    counted(rows, 'row'),
    countsText({ counts: { inserted, updated, deleted, unchanged: 0, restated: changed('restated') } }),
    ...(warnings === 0 ? [] : [counted(warnings, 'warning')]),
  ];
  const detail = code === EXIT.done ? figures.join(', ') : (reasonsOf(runs)[0]?.text ?? '');
  const problem = code !== EXIT.done;
  const lines = [...detailedLines(result, lakeUrl), ...diagnostics];
  return { code, problem, state: outcome, detail, lines, notes: problem ? [] : diagnostics };
}

/** A result for `--json`: each run names its connection. */
export function withConnection(result: ExportResult, connection: string): ExportResult {
  return { ...result, runs: result.runs.map((run) => ({ connection, ...run })) };
}

/** The rows and counts of each resource, for stdout. */
export function publishedLines({ runs }: Pick<ExportResult, 'runs'>): string[] {
  const rows = runs.map((run) => [
    run.resource,
    run.outcome,
    run.rows === null ? '' : counted(run.rows, 'row'),
    run.audit === undefined ? countsText(run) : auditText(run.audit),
    ...(run.dryRun === undefined ? [] : [dryRunText(run.dryRun)]),
  ]);
  return table(rows, [2]);
}

/** What a dry run found in addition to its counts. Warnings name the new columns. */
function dryRunText({ columns, tableFiles, requests, bytes }: DryRunReport): string {
  return [
    ...(columns.length === 0 ? [] : [`schema: ${counted(columns.length, 'column')}`]),
    ...(tableFiles === null ? [] : [`table: ${tableFiles.written} files written, ${tableFiles.kept} kept`]),
    `${counted(requests, 'request')}, ${formatBytes(bytes)}`,
  ].join('; ');
}

/** Where the published data are, and how to query them; nothing if no run was published. */
export function whereLines({ runs }: Pick<ExportResult, 'runs'>, lakeUrl: string): string[] {
  if (!runs.some(({ snapshot }) => snapshot !== null)) return [];
  const largest = runs.reduce((best, run) => ((run.rows ?? -1) > (best.rows ?? -1) ? run : best));
  const view = viewName(largest.resource);
  return [`Data: ${lakeUrl}/. Query it: \`worktrack query "SELECT count(*) FROM ${view}"\``];
}

/**
 * The lines of `publishedLines`, each with the folder of its snapshot below. If a URL is wider than the terminal, the lines
 * have the folders within the lake, and the lake's URL comes last.
 *
 * @param width longest line
 */
export function detailedLines({ runs }: ExportResult, lakeUrl: string, width = terminalWidth()): string[] {
  const lines = publishedLines({ runs });
  const folders = runs.map(({ snapshot }) => snapshot?.slice(0, snapshot.lastIndexOf('/') + 1));
  const base = `${lakeUrl}/`;
  const isWide = folders.some((one = '') => one !== '' && base.length + one.length + INDENT.length > width);
  return [
    ...lines.flatMap((line, i) => {
      const folder = folders[i];
      return folder === undefined ? [line] : [line, `${INDENT}${isWide ? '' : base}${folder}`];
    }),
    ...(isWide ? [`in ${base}`] : []),
  ];
}

const INDENT = '  ';

/** Warnings, notes and errors, for stderr; a text that several resources share is printed once. */
export function diagnosticLines({ runs }: ExportResult): string[] {
  const warnings = runs.flatMap((run) =>
    run.warnings.map((text) => `warning: ${named([run.resource], text)}`),
  );
  return [
    ...warnings,
    ...noteLines(runs),
    ...reasonsOf(runs).map(({ outcome, text }) => `${outcome}: ${text}`),
  ];
}

function noteLines(runs: readonly RunReport[]): string[] {
  const notes = groupBy(runs, ({ deletes, deletesAsBefore }) =>
    deletesAsBefore === true ? null : deletes && deletesNote(deletes),
  );
  return [...notes].map(([text, same]) => `note: ${named(namesOf(same), text)}`);
}

/** Why runs were not published, with their resources. */
function reasonsOf(runs: readonly RunReport[]): { readonly outcome: string; readonly text: string }[] {
  const reasons = groupBy(runs, ({ error }) => error?.message);
  return [...reasons].map(([text, same]) => ({
    outcome: same[0]!.outcome,
    text: named(namesOf(same), text),
  }));
}

function namesOf(runs: readonly RunReport[]): string[] {
  return runs.map(({ resource }) => resource);
}

const SHOWN_COUNTS = ['inserted', 'updated', 'unchanged', 'deleted'] as const;
type ShownCounts = Pick<RunCounts, (typeof SHOWN_COUNTS)[number] | 'restated'>;

/** The most important counts; the others are in the manifest and in `--json`. */
export function countsText({ counts }: { readonly counts: ShownCounts | null }): string {
  if (counts === null) return '';
  const shown = SHOWN_COUNTS.filter((name) => counts[name] > 0);
  const parts = shown.map((name) => `${count(counts[name])} ${name}`);
  if (counts.restated > 0) parts.push(`restated ${counted(counts.restated, 'row')}`);
  return parts.length === 0 ? 'no changes' : parts.join(', ');
}
