import { type Bar, barChart, type PieceKind, total } from './chart.js';
import { html, type Markup, NOTHING } from './markup.js';
import type { ReportedRun } from './model.js';
import { count, day, length, short, time } from './text.js';

/** Charts of the last runs: rows, changes and durations. @param runs newest first */
export function trend(runs: readonly ReportedRun[]): Markup {
  const all = [...runs].reverse();
  if (all.length < 2) return NOTHING;
  return html`<div class="charts">${[rowsChart(all), changesChart(all), durationChart(all)]}</div>`;
}

function rowsChart(runs: readonly ReportedRun[]): Markup {
  const rows = runs.map((run) => run.counts.rows);
  const [least, most] = [Math.min(...rows), Math.max(...rows)];
  // Without a floor, a snapshot that grows by 0.1 % per night would show equal bars.
  const floor = least > 0.8 * most ? Math.max(0, least - (most - least)) : 0;
  const bars = runs.map((run) => bar(run, `${count(run.counts.rows)} rows`, [['rows', run.counts.rows]]));
  const chart = barChart({ label: `Rows: ${count(rows.at(-1)!)} in the last run`, bars, floor });
  const foot = floor > 0 ? `bars start at ${short(floor)}` : '';
  return figure('Rows', { runs, chart, most: short(most), foot });
}

function changesChart(runs: readonly ReportedRun[]): Markup {
  // The first load would make all other bars too small to see.
  const shown = runs.filter((run) => !run.isFirst);
  const bars = shown.map((run) => {
    const { inserted, updated, deleted } = run.counts;
    const title = `${count(inserted)} inserted, ${count(updated)} updated, ${count(deleted)} deleted`;
    return bar(run, title, [
      ['inserted', inserted],
      ['updated', updated],
      ['deleted', deleted],
    ]);
  });
  const most = Math.max(0, ...bars.map(total));
  const chart = barChart({ label: `Changes: at most ${count(most)} in a run`, bars });
  const foot = shown.length < runs.length ? 'without the first load' : '';
  const legend = html`<span class="legend"><i class="inserted"></i>inserted <i class="updated"></i>updated <i class="deleted"></i>deleted</span>`;
  return figure('Changes', { runs: shown, chart, most: short(most), foot, legend });
}

function durationChart(runs: readonly ReportedRun[]): Markup {
  const lasted = runs.map(duration);
  const bars = runs.map((run, at) => bar(run, length(lasted[at]!), [['time', lasted[at]!]]));
  const chart = barChart({ label: `Duration: ${length(lasted.at(-1)!)} in the last run`, bars });
  return figure('Duration', { runs, chart, most: length(Math.max(...lasted)), foot: '' });
}

/** From the start of the run to its publication, ms. */
export function duration(run: ReportedRun): number {
  return Math.max(0, run.publishedAt - run.startedAt) || 0;
}

function bar(run: ReportedRun, title: string, pieces: readonly [PieceKind, number][]): Bar {
  return {
    title: `${time(run.publishedAt)}: ${title}`,
    pieces: pieces.map(([kind, value]) => ({ kind, value })),
  };
}

function figure(
  name: string,
  drawn: {
    readonly runs: readonly ReportedRun[];
    readonly chart: Markup;
    readonly most: string;
    readonly foot: string;
    readonly legend?: Markup;
  },
): Markup {
  const { runs, chart, most, foot, legend = NOTHING } = drawn;
  const [first, last] = [runs[0], runs.at(-1)];
  const from = first === undefined ? '' : day(first.publishedAt);
  const to = last === undefined ? '' : day(last.publishedAt);
  return html`<figure><figcaption><b>${name}</b><span>max ${most}</span></figcaption>${chart}<div class="ends"><span>${from}</span><span>${foot}</span><span>${to}</span></div>${legend}</figure>`;
}
