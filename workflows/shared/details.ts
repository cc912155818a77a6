import { setCurrentDetails } from '@temporalio/workflow';
import type { MirrorStatus, RunRecord } from '../../src/core/contract/index.js';

/** Shows Markdown next to the workflow in Temporal's UI. It adds no event to the history. */
export function showDetails(markdown: string): void {
  setCurrentDetails(markdown);
}

/** What is known of the runs of an export; `null`: not yet. */
export interface Progress {
  readonly connection: string;
  readonly runs: readonly { readonly resource: string; readonly record: RunRecord | null }[];
}

/** A table with one line per resource: outcome and number of rows. */
export function exportDetails({ connection, runs }: Progress): string {
  const lines = runs.map(
    ({ resource, record }) =>
      `| ${resource} | ${record === null ? 'in progress' : outcomeOf(record)} | ${record?.rows ?? ''} |`,
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
    'last outcome': lastRun === null ? 'in progress' : outcomeOf(lastRun),
    error: lastRun?.error?.message ?? '',
  };
  const lines = Object.entries(facts).flatMap(([name, value]) =>
    value === '' ? [] : [`| ${name} | ${cell(value)} |`],
  );
  return [`**${resource}** (${connection})`, '', '| | |', '|---|---|', ...lines].join('\n');
}

function outcomeOf({
  outcome,
  warnings,
  schemaChanges,
}: {
  readonly outcome: string;
  readonly warnings: readonly unknown[];
  readonly schemaChanges?: { readonly count: number };
}): string {
  const count = warnings.length + (schemaChanges?.count ?? 0);
  return count === 0 ? outcome : `${outcome}, ${count} warnings`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
