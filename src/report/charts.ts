import type { Millis } from '../core/brands.js';
import { count, cut, time } from '../core/short-text.js';
import { html, type Markup, NOTHING, raw } from './markup.js';
import { changesOf, type FigureGroup, type ReportedRun, restatedText, type Slot } from './model.js';
import { day, length, short } from './number-text.js';

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
  const chart = barChart(`Changes: at most ${count(most)} in a run`, bars);
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
  const chart = barChart(`Rows: ${count(last)} in the last run`, bars);
  return figure('Rows', { slots, chart, most: short(most) });
}

function durationChart(slots: readonly Slot[], runs: readonly ReportedRun[]): Markup {
  const bars = slots.map((slot) =>
    barOf(slot, (run) => [length(runLength(run)), [['time', runLength(run)]]]),
  );
  const chart = barChart(`Duration: ${length(runLength(runs.at(-1)!))} in the last run`, bars);
  return figure('Duration', { slots, chart, most: length(Math.max(...bars.map(total))) });
}

/** From the start of the run to its publication. */
export function runLength(run: ReportedRun): Millis {
  return Math.max(0, run.publishedAt - run.startedAt);
}

/** @param draw what a published run shows: its tooltip, and the pieces of its bar */
function barOf(slot: Slot, draw: (run: ReportedRun) => [title: string, pieces: Bar['pieces']]): Bar {
  if (slot.kind === 'missed') return { title: missedText(slot), pieces: [], mark: 'missed' };
  if (slot.kind === 'published') {
    const [title, pieces] = draw(slot.run);
    return { title: `${time(slot.run.publishedAt)}: ${title}`, pieces };
  }
  const { outcome, error } = slot.run;
  const title = `${time(slot.at)}: ${outcome}${error === null ? '' : `, ${error.message}`}`;
  return { title: cut(title, LONGEST_TOOLTIP), pieces: [], mark: 'failed' };
}

export function missedText({ from, to }: { readonly from: number; readonly to: number }): string {
  return `no published run from ${time(from)} to ${time(to)}`;
}

interface Figure {
  readonly slots: readonly Slot[];
  readonly chart: Markup;
  readonly most: string;
  readonly foot?: string;
  readonly legend?: Markup;
}

function figure(name: string, { slots, chart, most, foot, legend = NOTHING }: Figure): Markup {
  const ends = [slots[0]!, slots.at(-1)!].map((slot) => day(slot.kind === 'missed' ? slot.to : slot.at));
  return html`<figure><figcaption><b>${name}</b><span>0 to ${most}</span></figcaption>${chart}${axisLine(ends[0]!, ends[1]!, foot)}${legend}</figure>`;
}

function flat(name: string, text: string): Markup {
  return html`<figure><figcaption><b>${name}</b></figcaption><p>${text}</p></figure>`;
}

/** One place of a chart: a stacked bar, whose pieces are drawn from bottom to top, or a mark below the axis. */
interface Bar {
  /** Tooltip. */
  readonly title: string;
  readonly pieces: readonly (readonly [PieceKind, number])[];
  /** `failed`: a run that did not publish; `missed`: a time without a published run. */
  readonly mark?: 'failed' | 'missed' | undefined;
}

type PieceKind = 'rows' | 'inserted' | 'updated' | 'deleted' | 'time';

const WIDTH = 300;
/** Of the bars; the marks are below. */
const HEIGHT = 72;
const MARK_HEIGHT = 8;
/** Minimum height of a piece above zero, so that it is visible. */
const MIN_HEIGHT = 1.5;
/** Maximum width of a bar and its gap. */
const MAX_STEP = 18;

/**
 * Renders bars as an SVG that scales to the available width. Bars start at zero, so that their heights compare as their
 * values do. The page's style sets the colours.
 *
 * @param label for screen readers: what the chart shows, and the newest value
 * @param bars oldest first
 * @param top the value at the top, so that charts side by side have the same scale
 */
export function barChart(
  label: string,
  bars: readonly Bar[],
  top: number = Math.max(0, ...bars.map(total)),
): Markup {
  const scale = top > 0 ? HEIGHT / top : 0;
  const step = Math.min(WIDTH / Math.max(1, bars.length), MAX_STEP);
  const left = WIDTH - step * bars.length;
  const drawn = bars.map((bar, at) => drawBar(bar, left + at * step, step * 0.78, scale));
  const height = HEIGHT + (bars.some(({ mark }) => mark !== undefined) ? MARK_HEIGHT + 2 : 0);
  return html`<svg viewBox="0 0 ${WIDTH} ${height}" preserveAspectRatio="none" role="img" aria-label="${label}">${drawn}<line class="axis" x1="0" x2="${WIDTH}" y1="${HEIGHT}" y2="${HEIGHT}"/></svg>`;
}

/**
 * The line below a chart: a note, and the first and last day. The days are one text at the right, because few bars do not
 * fill the width.
 */
function axisLine(first: string, last: string, note = ''): Markup {
  const range = first === last ? last : `${first} to ${last}`;
  return html`<div class="ends"><span>${note}</span><span>${range}</span></div>`;
}

/** @param scale drawing units per counted unit */
function drawBar({ title, pieces, mark }: Bar, x: number, width: number, scale: number): Markup {
  let y = HEIGHT;
  const rects = pieces.map(([kind, value]) => {
    if (value <= 0) return raw('');
    const height = Math.max(MIN_HEIGHT, value * scale);
    y -= height;
    return rect(kind, { x, y: Math.max(0, y), width, height });
  });
  const below = { x, y: HEIGHT + 2, width, height: MARK_HEIGHT };
  const marked = mark === undefined ? raw('') : rect(mark, below);
  return html`<g><title>${title}</title>${rect('hit', { x, y: 0, width, height: HEIGHT })}${rects}${marked}</g>`;
}

function rect(kind: string, box: Readonly<Record<'x' | 'y' | 'width' | 'height', number>>): Markup {
  return html`<rect class="${kind}" x="${unit(box.x)}" y="${unit(box.y)}" width="${unit(box.width)}" height="${unit(box.height)}"/>`;
}

function total({ pieces }: Bar): number {
  return pieces.reduce((sum, [, value]) => sum + value, 0);
}

function unit(value: number): string {
  return String(Math.round(value * 100) / 100);
}

/** A section with one bar chart for each figure. All have the scale of the largest value, so that they compare. */
export function figureSection({ title, note, unit, figures }: FigureGroup): Markup {
  const top = Math.max(0, ...figures.flatMap(({ values }) => values.map(({ value }) => value)));
  return html`<section><h2>${title}</h2><p class="dim">${note} All charts go from 0 to ${count(top)} ${unit}.</p><div class="charts">${figures.map((one) => drawFigure(one, unit, top))}</div></section>`;
}

function drawFigure({ name, values }: FigureGroup['figures'][number], unit: string, top: number): Markup {
  const sum = values.reduce((all, { value }) => all + value, 0);
  const bars = values.map(({ label, value }) => ({
    title: `${label}: ${count(value)} ${unit}`,
    pieces: [['rows', value] as const],
  }));
  const chart = barChart(`${name}: ${count(sum)} ${unit} in all`, bars, top);
  const [first, last] = [values[0], values.at(-1)].map((one) => one?.label ?? '');
  return html`<figure><figcaption><b><bdi>${name}</bdi></b><span>${count(sum)} ${unit}</span></figcaption>${chart}${axisLine(first!, last!)}</figure>`;
}
