import { duration, trend } from './charts.js';
import { html, type Markup, NOTHING } from './markup.js';
import type { ReportedRun, ResourceReport } from './model.js';
import { runsTable } from './runs-table.js';
import { count, length, time } from './text.js';

/** Of one run's warnings, and of its schema changes. All of them are in the manifest. */
const LISTED = 50;

/** One resource: the last run's figures, what to look at, the trend, the runs. */
export function resourceSection({ resource, runs, problem }: ResourceReport, id: string): Markup {
  const [last] = runs;
  if (last === undefined) {
    const said = problem === null ? 'Nothing is published yet.' : problem;
    const kind = problem === null ? 'dim' : 'box bad';
    return html`<section id="${id}"><h2><bdi>${resource}</bdi></h2><p class="${kind}">${said}</p></section>`;
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
  return html`<div class="box bad"><h3>Gap</h3><p>What changed from ${found.from} to ${found.to} was no longer listed when this run began, and may be missing.</p></div>`;
}

function listed(name: string, texts: readonly string[], kind: string): Markup {
  if (texts.length === 0) return NOTHING;
  const more = texts.length - LISTED;
  const rest = more > 0 ? html`<li>and ${count(more)} more, in the manifest</li>` : NOTHING;
  const items = texts.slice(0, LISTED).map((text) => html`<li><bdi>${text}</bdi></li>`);
  return html`<div class="${kind}"><h3>${name}</h3><ul>${items}${rest}</ul></div>`;
}

/** What runs before the last one had to say. */
function earlier([, ...runs]: readonly ReportedRun[]): Markup {
  const told = runs.flatMap((run) =>
    [
      ...run.warnings,
      ...run.schemaChanges,
      ...(run.gap === null ? [] : [`gap: ${run.gap.from} to ${run.gap.to}`]),
    ].map((text) => html`<li><span class="dim">${time(run.publishedAt)}</span> <bdi>${text}</bdi></li>`),
  );
  if (told.length === 0) return NOTHING;
  return html`<details><summary>Warnings and schema changes of earlier runs (${count(told.length)})</summary><ul>${told.slice(0, LISTED)}</ul></details>`;
}
