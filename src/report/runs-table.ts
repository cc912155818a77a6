import { duration, missedText } from './charts.js';
import { html, type Markup, NOTHING } from './markup.js';
import { type ReportedRun, restatedText, warningsOf } from './model.js';
import { clip, count, length, minute } from './text.js';
import type { Slot } from './timeline.js';

const LONGEST_CAUSE = 300;
const HEADER = [
  ...[
    'started (UTC)',
    'outcome',
    'rows',
    'inserted',
    'updated',
    'deleted',
    'unchanged',
    'duration',
    'warnings',
  ],
];

/** The runs as a table, newest first; it scrolls sideways on a narrow screen. @param slots oldest first */
export function runsTable(slots: readonly Slot[]): Markup {
  const runs = slots.filter(({ kind }) => kind !== 'missed').length;
  if (runs === 0) return NOTHING;
  const rows = slots
    // Several places without a run, between the same two runs, are one line.
    .filter((slot, i) => slot.kind !== 'missed' || !isSameGap(slot, slots[i + 1]))
    .map(rowOf)
    .reverse();
  const heads = HEADER.map((name) => html`<th scope="col">${name}</th>`);
  return html`<details><summary>Last ${runs === 1 ? 'run' : `${count(runs)} runs`}</summary><div class="scroll" tabindex="0"><table class="runs"><thead><tr>${heads}</tr></thead><tbody>${rows}</tbody></table></div></details>`;
}

function isSameGap(slot: Slot & { kind: 'missed' }, next: Slot | undefined): boolean {
  return next?.kind === 'missed' && next.from === slot.from;
}

function rowOf(slot: Slot): Markup {
  if (slot.kind === 'missed')
    return html`<tr class="none"><td colspan="${HEADER.length}">${missedText(slot)}</td></tr>`;
  if (slot.kind === 'published') return publishedRow(slot.run);
  const { runId, startedAt, outcome, error } = slot.run;
  const cause = error === null ? '' : html`<bdi>${clip(error.message, LONGEST_CAUSE)}</bdi>`;
  return html`<tr class="bad"><td title="${runId ?? ''}">${minute(startedAt)}</td><td>${outcome}</td><td class="cause" colspan="${HEADER.length - 2}">${cause}</td></tr>`;
}

function publishedRow(run: ReportedRun): Markup {
  const { rows, inserted, updated, deleted, unchanged } = run.counts;
  const numbers = [rows, inserted, updated, deleted, unchanged].map((n) => html`<td>${count(n)}</td>`);
  const warnings = warningsOf(run).length;
  return html`<tr><td title="${run.runId}">${minute(run.startedAt)}</td><td>${[run.mode === 'full' ? 'published (full)' : 'published', ...restatedText(run)].join(', ')}</td>${numbers}<td>${length(duration(run))}</td><td>${warnings === 0 ? '' : count(warnings)}</td></tr>`;
}
