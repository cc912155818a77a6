import { duration, trend } from './charts.js';
import { html, type Markup, NOTHING } from './markup.js';
import type { ReportedRun, ResourceReport } from './model.js';
import { count, length, time } from './text.js';

/** Maximum number of listed warnings or schema changes. The manifest has all of them. */
const MAX_LISTED = 50;

/** The section of one resource: figures and warnings of the last run, charts, and a table of runs. */
export function resourceSection({ resource, runs, problem }: ResourceReport, id: string): Markup {
  const [last] = runs;
  if (last === undefined) {
    const text = problem === null ? 'No run is published yet.' : problem;
    const kind = problem === null ? 'dim' : 'box bad';
    return html`<section id="${id}"><h2><bdi>${resource}</bdi></h2><p class="${kind}">${text}</p></section>`;
  }
  return html`<section id="${id}"><header class="of"><h2><bdi>${resource}</bdi></h2><span class="dim">published ${time(last.publishedAt)}</span></header>
${figures(last)}${gap(last)}${listed('Warnings', last.warnings, 'box warn')}${listed('Schema changes', last.schemaChanges, 'box warn')}
${trend(runs)}${earlier(runs)}${runsTable(runs)}</section>`;
}

function figures(run: ReportedRun): Markup {
  const { rows, inserted, updated, deleted, unchanged, fetched } = run.counts;
  const cells = [
    ...(Object.entries({ Rows: rows, Inserted: inserted, Updated: updated, Deleted: deleted }) as [
      string,
      number,
    ][]),
    ['Unchanged', unchanged] as const,
    ['Fetched', fetched] as const,
  ].map(([name, value]) => html`<div><dt>${name}</dt><dd>${count(value)}</dd></div>`);
  const texts = (
    [
      ['Duration', length(duration(run))],
      ['Read', run.updatedSince === null ? 'everything' : `changes since ${run.updatedSince}`],
      ['Next checkpoint', run.checkpoint],
      ['Pages', count(run.pages)],
      ['Columns', count(run.columns)],
      ['Run', run.runId],
    ] as const
  ).map(([name, text]) => html`<div><dt>${name}</dt><dd class="text">${text}</dd></div>`);
  return html`<dl>${cells}</dl><dl class="texts">${texts}</dl>`;
}

function gap({ gap: found }: ReportedRun): Markup {
  if (found === null) return NOTHING;
  return html`<div class="box bad"><h3>Gap</h3><p>The service no longer listed changes from ${found.from} to ${found.to} when this run started. They may be missing.</p></div>`;
}

function listed(name: string, texts: readonly string[], kind: string): Markup {
  if (texts.length === 0) return NOTHING;
  const more = texts.length - MAX_LISTED;
  const rest = more > 0 ? html`<li>and ${count(more)} more, in the manifest</li>` : NOTHING;
  const items = texts.slice(0, MAX_LISTED).map((text) => html`<li><bdi>${text}</bdi></li>`);
  return html`<div class="${kind}"><h3>${name}</h3><ul>${items}${rest}</ul></div>`;
}

/** Warnings and schema changes of the runs before the last one. */
function earlier([, ...runs]: readonly ReportedRun[]): Markup {
  const items = runs.flatMap((run) =>
    [
      ...run.warnings,
      ...run.schemaChanges,
      ...(run.gap === null ? [] : [`gap: ${run.gap.from} to ${run.gap.to}`]),
    ].map((text) => html`<li><span class="dim">${time(run.publishedAt)}</span> <bdi>${text}</bdi></li>`),
  );
  if (items.length === 0) return NOTHING;
  return html`<details><summary>Warnings and schema changes of earlier runs (${count(items.length)})</summary><ul>${items.slice(0, MAX_LISTED)}</ul></details>`;
}

/** The runs as a table, newest first; it scrolls sideways on a narrow screen. */
function runsTable(runs: readonly ReportedRun[]): Markup {
  const rows = runs.map((run) => {
    const { rows: all, inserted, updated, deleted, unchanged } = run.counts;
    const numbers = [all, inserted, updated, deleted, unchanged].map((n) => html`<td>${count(n)}</td>`);
    const warnings = run.warnings.length + run.schemaChanges.length + (run.gap === null ? 0 : 1);
    return html`<tr><td title="${run.runId}">${time(run.publishedAt)}</td><td>${run.mode}</td>${numbers}<td>${length(duration(run))}</td><td>${warnings === 0 ? '' : count(warnings)}</td></tr>`;
  });
  return html`<details><summary>Last ${count(runs.length)} published ${runs.length === 1 ? 'run' : 'runs'}</summary><div class="scroll" tabindex="0"><table><thead><tr><th>published</th><th>mode</th><th>rows</th><th>inserted</th><th>updated</th><th>deleted</th><th>unchanged</th><th>duration</th><th>warnings</th></tr></thead><tbody>${rows}</tbody></table></div></details>`;
}
