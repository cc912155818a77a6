import { setCurrentDetails } from '@temporalio/workflow';
import type { ExportProgress, MirrorStatus, RunReport } from '../../src/core/contract/index.js';

/** Shows Markdown next to the workflow in Temporal's UI. It adds no event to the history. */
export function showDetails(markdown: string): void {
  setCurrentDetails(markdown);
}

/** A table with one line per resource: outcome and number of rows. */
export function exportDetails({ connection, runs }: ExportProgress): string {
  const lines = runs.map(
    ({ resource, report }) => `| ${resource} | ${outcomeText(report)} | ${report?.rows ?? ''} |`,
  );
  return [`**${connection}**`, '', '| resource | outcome | rows |', '|---|---|---:|', ...lines].join('\n');
}

/** The current activity of a mirror and the outcome of its last run. */
export function mirrorDetails(status: MirrorStatus): string {
  const { connection, resource, active, checkpoint, published, waiting, lastRun } = status;
  const facts = {
    now:
      active === null
        ? 'idle'
        : `${active.phase}, ${active.pages} pages, ${active.rows} rows (run ${active.runId})`,
    waiting: String(waiting),
    published: published === null ? 'never' : `run ${published.runId}, ${published.rows} rows`,
    checkpoint: checkpoint?.updatedSince ?? 'none',
    'last outcome': outcomeText(lastRun),
    error: lastRun?.error?.message ?? '',
  };
  const lines = Object.entries(facts).flatMap(([name, value]) =>
    value === '' ? [] : [`| ${name} | ${cell(value)} |`],
  );
  return [`**${resource}** (${connection})`, '', '| | |', '|---|---|', ...lines].join('\n');
}

function outcomeText(report: RunReport | null): string {
  if (report === null) return 'in progress';
  return report.warnings.length === 0
    ? report.outcome
    : `${report.outcome}, ${report.warnings.length} warnings`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
