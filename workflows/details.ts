import { setCurrentDetails } from '@temporalio/workflow';
import type { ExportProgress, MirrorStatus, RunReport } from '../src/core/contract.js';

/** Shows Markdown beside the workflow in Temporal's UI; it costs no event. */
export function showDetails(markdown: string): void {
  setCurrentDetails(markdown);
}

/** A line a resource: how its run ended, and with how many rows. */
export function exportDetails({ connection, runs }: ExportProgress): string {
  const lines = runs.map(
    ({ resource, report }) => `| ${resource} | ${outcomeText(report)} | ${rowsText(report)} |`,
  );
  return [`**${connection}**`, '', '| resource | outcome | rows |', '|---|---|---:|', ...lines].join('\n');
}

/** What a mirror does now, and what it did last. */
export function mirrorDetails({
  connection,
  resource,
  active,
  checkpoint,
  published,
  waiting,
  lastRun,
}: MirrorStatus): string {
  const lines: [string, string][] = [
    [
      'now',
      active === null
        ? 'nothing'
        : `${active.phase}, ${active.pages} pages, ${active.rows} rows (run ${active.runId})`,
    ],
    ['waiting', String(waiting)],
    ['published', published === null ? 'never' : `run ${published.runId}, ${published.rows} rows`],
    ['checkpoint', checkpoint?.updatedSince ?? 'none'],
    ['last outcome', outcomeText(lastRun)],
    ['why', lastRun?.error?.message ?? ''],
  ];
  const shown = lines.filter(([, value]) => value !== '');
  return [
    `**${resource}** (${connection})`,
    '',
    '| | |',
    '|---|---|',
    ...shown.map(([name, value]) => `| ${name} | ${cell(value)} |`),
  ].join('\n');
}

function outcomeText(report: RunReport | null): string {
  if (report === null) return 'under way';
  return report.warnings.length === 0
    ? report.outcome
    : `${report.outcome}, ${report.warnings.length} warnings`;
}

function rowsText(report: RunReport | null): string {
  return report?.rows === null || report === null ? '' : String(report.rows);
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
