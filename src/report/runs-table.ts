import { duration } from './charts.js';
import { html, type Markup } from './markup.js';
import type { ReportedRun } from './model.js';
import { count, length, time } from './text.js';

/** The runs as a table, newest first; it scrolls by itself on a narrow screen. */
export function runsTable(runs: readonly ReportedRun[]): Markup {
  const rows = runs.map((run) => {
    const { rows: all, inserted, updated, deleted, unchanged } = run.counts;
    const numbers = [all, inserted, updated, deleted, unchanged].map((n) => html`<td>${count(n)}</td>`);
    const said = run.warnings.length + run.schemaChanges.length + (run.gap === null ? 0 : 1);
    return html`<tr><td title="${run.runId}">${time(run.publishedAt)}</td><td>${run.mode}</td>${numbers}<td>${length(duration(run))}</td><td>${said === 0 ? '' : count(said)}</td></tr>`;
  });
  return html`<details><summary>Last ${count(runs.length)} published ${runs.length === 1 ? 'run' : 'runs'}</summary><div class="scroll" tabindex="0"><table><thead><tr><th>published</th><th>mode</th><th>rows</th><th>inserted</th><th>updated</th><th>deleted</th><th>unchanged</th><th>duration</th><th>warnings</th></tr></thead><tbody>${rows}</tbody></table></div></details>`;
}
