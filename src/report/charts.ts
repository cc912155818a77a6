import { axisLine, type Bar, barChart, type PieceKind, total } from './chart.js';
import { html, type Markup, NOTHING } from './markup.js';
import { changesOf, type ReportedRun, restatedText } from './model.js';
import { clip, count, day, length, short, time } from './text.js';
import type { Slot } from './timeline.js';

/** The smallest part of the largest value that two bars can differ by and still look different. */
const VISIBLE = 0.02;
const LONGEST_TOOLTIP = 200;

/** Charts of the last runs: changes, rows and durations. @param slots oldest first */
export function charts(slots: readonly Slot[]): Markup {
  const runs = slots.flatMap((slot) => (slot.kind === 'published' ? [slot.run] : []));
  if (runs.length < 2) return NOTHING;
  return html`<div class="charts">${[changesChart(slots, runs), rowsChart(slots, runs), durationChart(slots, runs)]}</div>`;
}

function changesChart(slots: readonly Slot[], runs: readonly ReportedRun[]): Markup {
  // The first load would make all other bars too small to see.
  const later = runs.filter((run) => !run.isFirst);
  const most = Math.max(0, ...later.map(changesOf));
  if (most === 0) {
    const [restated] = later.flatMap(restatedText);
    const more = restated === undefined ? '' : ` A change of settings ${restated}.`;
    return flat('Changes', `No changes in ${count(later.length)} runs.${more}`);
  }
  const bars = slots.map((slot) =>
    barOf(slot, (run) => {
      const { inserted, updated, deleted } = run.counts;
      const changed = `${count(inserted)} inserted, ${count(updated)} updated, ${count(deleted)} deleted`;
      const title = [changed, ...restatedText(run)].join(', ');
      if (run.isFirst) return [`first load, ${title}`, []];
      return [title, [['inserted', inserted], ['updated', updated], ['deleted', deleted]]]; // biome-ignore format: one line
    }),
  );
  const chart = barChart({ label: `Changes: at most ${count(most)} in a run`, bars });
  const foot = later.length < runs.length ? 'without the first load' : '';
  const legend = html`<span class="legend"><i class="inserted"></i>inserted <i class="updated"></i>updated <i class="deleted"></i>deleted</span>`;
  return figure('Changes', { slots, chart, most: short(most), foot, legend });
}

/** The axis starts at zero. A change that would not be visible on it is given as text. */
function rowsChart(slots: readonly Slot[], runs: readonly ReportedRun[]): Markup {
  const rows = runs.map((run) => run.counts.rows);
  const [least, most] = [Math.min(...rows), Math.max(...rows)];
  const [first, last] = [rows[0]!, rows.at(-1)!];
  if (most - least < VISIBLE * most) {
    const since = day(runs[0]!.publishedAt);
    const change =
      last === first ? 'unchanged' : `${last > first ? '+' : '−'}${count(Math.abs(last - first))}`;
    return flat('Rows', `${count(last)}, ${change} since ${since}.`);
  }
  const bars = slots.map((slot) =>
    barOf(slot, ({ counts }) => [`${count(counts.rows)} rows`, [['rows', counts.rows]]]),
  );
  const chart = barChart({ label: `Rows: ${count(last)} in the last run`, bars });
  return figure('Rows', { slots, chart, most: short(most), foot: '' });
}

function durationChart(slots: readonly Slot[], runs: readonly ReportedRun[]): Markup {
  const bars = slots.map((slot) => barOf(slot, (run) => [length(duration(run)), [['time', duration(run)]]]));
  const chart = barChart({ label: `Duration: ${length(duration(runs.at(-1)!))} in the last run`, bars });
  return figure('Duration', { slots, chart, most: length(Math.max(...bars.map(total))), foot: '' });
}

/** From the start of the run to its publication, ms. */
export function duration(run: ReportedRun): number {
  return Math.max(0, run.publishedAt - run.startedAt) || 0;
}

type Drawn = readonly [title: string, pieces: readonly (readonly [PieceKind, number])[]];

function barOf(slot: Slot, draw: (run: ReportedRun) => Drawn): Bar {
  switch (slot.kind) {
    case 'published': {
      const [title, pieces] = draw(slot.run);
      return {
        title: `${time(slot.run.publishedAt)}: ${title}`,
        pieces: pieces.map(([kind, value]) => ({ kind, value })),
      };
    }
    case 'failed': {
      const { outcome, error } = slot.run;
      const title = clip(
        `${time(slot.at)}: ${outcome}${error === null ? '' : `, ${error.message}`}`,
        LONGEST_TOOLTIP,
      );
      return { title, pieces: [], mark: 'failed' };
    }
    case 'missed':
      return { title: missedText(slot), pieces: [], mark: 'missed' };
  }
}

export function missedText({ from, to }: { readonly from: number; readonly to: number }): string {
  return `no published run from ${time(from)} to ${time(to)}`;
}

interface Figure {
  readonly slots: readonly Slot[];
  readonly chart: Markup;
  readonly most: string;
  readonly foot: string;
  readonly legend?: Markup;
}

function figure(name: string, { slots, chart, most, foot, legend = NOTHING }: Figure): Markup {
  const ends = [slots[0], slots.at(-1)].map((slot) =>
    slot === undefined ? '' : day(slot.kind === 'missed' ? slot.to : slot.at),
  );
  return html`<figure><figcaption><b>${name}</b><span>0 to ${most}</span></figcaption>${chart}${axisLine(ends[0]!, ends[1]!, foot)}${legend}</figure>`;
}

function flat(name: string, text: string): Markup {
  return html`<figure><figcaption><b>${name}</b></figcaption><p>${text}</p></figure>`;
}
