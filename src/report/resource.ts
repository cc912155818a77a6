import { deletesNote } from '../core/delete-detection.js';
import type { Listed } from './attention.js';
import { charts, duration } from './charts.js';
import { checksTable } from './checks-table.js';
import { html, type Markup, NOTHING } from './markup.js';
import { type ReportedRun, warningsOf } from './model.js';
import { runsTable } from './runs-table.js';
import { count, length, time } from './text.js';
import { timeline } from './timeline.js';

/** Maximum number of listed warnings or schema changes. The manifest has all of them. */
const MAX_LISTED = 50;

export interface SectionOptions {
  readonly id: string;
  readonly maxAgeMs: number;
  /** Whether the page has several connections, so that the name includes them. */
  readonly many: boolean;
  readonly open: boolean;
}

/**
 * The section of one resource: figures and warnings of the last published run, charts, and a table of runs. The id is
 * inside the folded part, because browsers unfold it when a link leads there.
 */
export function resourceSection(listed: Listed, { id, maxAgeMs, many, open }: SectionOptions): Markup {
  const { report, connection } = listed;
  const [last] = report.runs;
  const slots = timeline(report, maxAgeMs);
  const name = html`${many ? html`<bdi class="dim">${connection.connection}</bdi> ` : NOTHING}<bdi>${report.resource}</bdi>`;
  const lake = many ? html`<p class="dim">Mirrored to <bdi>${connection.lake}</bdi></p>` : NOTHING;
  const figuresOfLast =
    last === undefined
      ? html`<p class="dim">${report.verdict.state === 'never-run' ? 'No run is published yet.' : (listed.cause ?? '')}</p>`
      : html`<p class="dim">Last published run: ${time(last.publishedAt)}</p>${figures(last)}${gap(last)}${deletes(last)}${listOf('Warnings', last.warnings)}${listOf('Schema changes', last.schemaChanges)}
${charts(slots)}`;
  return html`<section><details${open ? html` open` : NOTHING}><summary><h2>${name}</h2></summary><div id="${id}">${lake}${figuresOfLast}${checksTable(slots)}${earlier(report.runs)}${runsTable(slots)}</div></details></section>
`;
}

function figures(run: ReportedRun): Markup {
  const { rows, inserted, updated, deleted, unchanged, fetched, restated } = run.counts;
  const numbers = {
    ...{ Rows: rows, Inserted: inserted, Updated: updated, Deleted: deleted },
    ...{ Unchanged: unchanged, Fetched: fetched, ...(restated > 0 ? { Restated: restated } : {}) },
  };
  const texts = {
    Duration: length(duration(run)),
    Read: run.updatedSince === null ? 'everything' : `changes since ${run.updatedSince}`,
    'Next checkpoint': run.checkpoint,
    Pages: count(run.pages),
    Columns: count(run.columns),
    Run: run.runId,
  };
  const cells = Object.entries(numbers).map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${count(value)}</dd></div>`,
  );
  const wide = Object.entries(texts).map(
    ([name, text]) => html`<div><dt>${name}</dt><dd class="text">${text}</dd></div>`,
  );
  return html`<dl>${cells}</dl><dl class="texts">${wide}</dl>`;
}

function gap({ gap: found }: ReportedRun): Markup {
  if (found === null) return NOTHING;
  return html`<div class="box bad"><h3>Gap</h3><p>When this run started, the service no longer listed changes from ${found.from} to ${found.to}. Some of them may be missing.</p></div>`;
}

/** Not a warning: it says the same after each run, until the settings change. */
function deletes({ deletes: detection }: ReportedRun): Markup {
  const note = detection === undefined ? null : deletesNote(detection);
  return note === null ? NOTHING : html`<p class="dim">Note: <bdi>${note}</bdi></p>`;
}

function listOf(name: string, texts: readonly string[]): Markup {
  if (texts.length === 0) return NOTHING;
  const more = texts.length - MAX_LISTED;
  const rest = more > 0 ? html`<li>and ${count(more)} more, in the manifest</li>` : NOTHING;
  const items = texts.slice(0, MAX_LISTED).map((text) => html`<li><bdi>${text}</bdi></li>`);
  return html`<div class="box warn"><h3>${name}</h3><ul>${items}${rest}</ul></div>`;
}

/** Warnings and schema changes of the runs before the last one. */
function earlier([, ...runs]: readonly ReportedRun[]): Markup {
  const items = runs.flatMap((run) =>
    warningsOf(run).map(
      (text) => html`<li><span class="dim">${time(run.publishedAt)}</span> <bdi>${text}</bdi></li>`,
    ),
  );
  if (items.length === 0) return NOTHING;
  return html`<details><summary>Warnings and schema changes of earlier runs (${count(items.length)})</summary><ul>${items.slice(0, MAX_LISTED)}</ul></details>`;
}
