import type { CheckOutcome } from '../core/contract/index.js';
import { deletesNote } from '../core/delete-detection.js';
import { count, cut, minute, time } from '../core/short-text.js';
import type { ListedResource } from './attention.js';
import { charts, missedText, runLength } from './charts.js';
import { html, type Markup, NOTHING } from './markup.js';
import { type ReportedRun, restatedText, type Slot, shownWarnings, timeline } from './model.js';
import { length } from './number-text.js';

/** Maximum number of listed warnings or schema changes. The manifest has all of them. */
const MAX_LISTED = 50;

interface SectionOptions {
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
export function resourceSection(
  listed: ListedResource,
  { id, maxAgeMs, many, open }: SectionOptions,
): Markup {
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
    Duration: length(runLength(run)),
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
    shownWarnings(run).map(
      (text) => html`<li><span class="dim">${time(run.publishedAt)}</span> <bdi>${text}</bdi></li>`,
    ),
  );
  if (items.length === 0) return NOTHING;
  return html`<details><summary>Warnings and schema changes of earlier runs (${count(items.length)})</summary><ul>${items.slice(0, MAX_LISTED)}</ul></details>`;
}

const MARK_STEP = 7;
const MARK_SIZE = 5;
const MARKS_HEIGHT = 12;

/** A row for each check, with its outcomes in the last runs, oldest first. @param slots oldest first */
function checksTable(slots: readonly Slot[]): Markup {
  // In the order of the newest published run. Others are checks that are gone, or new ones that have only failed.
  const newest = slots.filter(({ kind }) => kind === 'published').reverse();
  const names = new Set([...newest, ...slots].flatMap((slot) => Object.keys(outcomesOf(slot))));
  if (names.size === 0) return NOTHING;
  const rows = [...names].map((name) => checkRow(name, slots));
  return html`<h3>Checks</h3><div class="scroll" tabindex="0"><table class="checks"><thead><tr><th scope="col">check</th><th scope="col">last outcome</th><th scope="col">last runs</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

/** The outcomes of a run by check. Of a run that checks have stopped, only the failed ones are known. */
function outcomesOf(slot: Slot): Readonly<Record<string, CheckOutcome>> {
  if (slot.kind === 'published') return slot.run.checks ?? {};
  if (slot.kind === 'missed') return {};
  return Object.fromEntries((slot.run.error?.checks ?? []).map((name) => [name, 'failed']));
}

function checkRow(name: string, slots: readonly Slot[]): Markup {
  const outcomes = slots.map((slot) => {
    const found = outcomesOf(slot);
    return Object.hasOwn(found, name) ? found[name]! : null;
  });
  const last = outcomes.findLast((outcome) => outcome !== null)!;
  const marks = outcomes.flatMap((outcome, at) => {
    if (outcome === null) return [];
    const slot = slots[at]!;
    const title = slot.kind === 'missed' ? outcome : `${time(slot.at)}: ${outcome}`;
    // A failed check is a full-height mark, so that it does not depend on colours.
    const [y, height] =
      outcome === 'failed' ? [0, MARKS_HEIGHT] : [(MARKS_HEIGHT - MARK_SIZE) / 2, MARK_SIZE];
    return [
      html`<rect class="check-${outcome}" x="${at * MARK_STEP}" y="${y}" width="${MARK_SIZE}" height="${height}"><title>${title}</title></rect>`,
    ];
  });
  const width = slots.length * MARK_STEP;
  const told = (['failed', 'warned', 'accepted', 'skipped', 'passed'] as const).flatMap((outcome) => {
    const number = outcomes.filter((one) => one === outcome).length;
    return number === 0 ? [] : [`${count(number)} ${outcome}`];
  });
  const tone = last === 'passed' || last === 'skipped' ? 'ok' : last === 'failed' ? 'bad' : 'warn';
  return html`<tr><th scope="row"><bdi>${name}</bdi></th><td><span class="tag ${tone}">${last}</span></td><td><svg width="${width}" height="${MARKS_HEIGHT}" viewBox="0 0 ${width} ${MARKS_HEIGHT}" role="img" aria-label="${told.join(', ')}">${marks}</svg></td></tr>`;
}

const LONGEST_CAUSE = 300;
const RUN_COLUMNS = 'started (UTC)|outcome|rows|inserted|updated|deleted|unchanged|duration|warnings'.split(
  '|',
);

/** The runs as a table, newest first; it scrolls sideways on a narrow screen. @param slots oldest first */
function runsTable(slots: readonly Slot[]): Markup {
  const runs = slots.filter(({ kind }) => kind !== 'missed').length;
  if (runs === 0) return NOTHING;
  const rows = slots
    // Several places without a run, between the same two runs, are one line.
    .filter((slot, i) => {
      const next = slots[i + 1];
      return slot.kind !== 'missed' || next?.kind !== 'missed' || next.from !== slot.from;
    })
    .map(runRow)
    .reverse();
  const heads = RUN_COLUMNS.map((name) => html`<th scope="col">${name}</th>`);
  return html`<details><summary>Last ${runs === 1 ? 'run' : `${count(runs)} runs`}</summary><div class="scroll" tabindex="0"><table class="runs"><thead><tr>${heads}</tr></thead><tbody>${rows}</tbody></table></div></details>`;
}

function runRow(slot: Slot): Markup {
  if (slot.kind === 'missed')
    return html`<tr class="none"><td colspan="${RUN_COLUMNS.length}">${missedText(slot)}</td></tr>`;
  if (slot.kind === 'published') return publishedRow(slot.run);
  const { runId, startedAt, outcome, error } = slot.run;
  const cause = error === null ? '' : html`<bdi>${cut(error.message, LONGEST_CAUSE)}</bdi>`;
  return html`<tr class="bad"><td title="${runId ?? ''}">${minute(startedAt)}</td><td>${outcome}</td><td class="cause" colspan="${RUN_COLUMNS.length - 2}">${cause}</td></tr>`;
}

function publishedRow(run: ReportedRun): Markup {
  const { rows, inserted, updated, deleted, unchanged } = run.counts;
  const numbers = [rows, inserted, updated, deleted, unchanged].map((n) => html`<td>${count(n)}</td>`);
  const warnings = shownWarnings(run).length;
  return html`<tr><td title="${run.runId}">${minute(run.startedAt)}</td><td>${[run.mode === 'full' ? 'published (full)' : 'published', ...restatedText(run)].join(', ')}</td>${numbers}<td>${length(runLength(run))}</td><td>${warnings === 0 ? '' : count(warnings)}</td></tr>`;
}
