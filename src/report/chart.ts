import { html, type Markup, raw } from './markup.js';

/** One place of a chart: a stacked bar, whose pieces are drawn from bottom to top, or a mark below the axis. */
export interface Bar {
  /** Tooltip. */
  readonly title: string;
  readonly pieces: readonly { readonly kind: PieceKind; readonly value: number }[];
  /** `failed`: a run that did not publish; `missed`: a time without a published run. */
  readonly mark?: 'failed' | 'missed' | undefined;
}

export type PieceKind = 'rows' | 'inserted' | 'updated' | 'deleted' | 'time';

interface Chart {
  /** Text for screen readers: what the chart shows, and the newest value. */
  readonly label: string;
  /** Oldest first. */
  readonly bars: readonly Bar[];
  /** The value at the top, so that charts side by side have the same scale. Default: the largest bar. */
  readonly top?: number | undefined;
}

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
 */
export function barChart({ label, bars, top: wanted }: Chart): Markup {
  const top = wanted ?? Math.max(0, ...bars.map(total));
  const scale = top > 0 ? HEIGHT / top : 0;
  const step = Math.min(WIDTH / Math.max(1, bars.length), MAX_STEP);
  const left = WIDTH - step * bars.length;
  const drawn = bars.map((bar, at) => drawBar(bar, { x: left + at * step, width: step * 0.78, scale }));
  const height = HEIGHT + (bars.some(({ mark }) => mark !== undefined) ? MARK_HEIGHT + 2 : 0);
  return html`<svg viewBox="0 0 ${WIDTH} ${height}" preserveAspectRatio="none" role="img" aria-label="${label}">${drawn}<line class="axis" x1="0" x2="${WIDTH}" y1="${HEIGHT}" y2="${HEIGHT}"/></svg>`;
}

/**
 * The line below a chart: a note, and the first and last day. The days are one text at the right, because few bars do not
 * fill the width.
 */
export function axisLine(first: string, last: string, note = ''): Markup {
  const range = first === last ? last : `${first} to ${last}`;
  return html`<div class="ends"><span>${note}</span><span>${range}</span></div>`;
}

interface Place {
  readonly x: number;
  readonly width: number;
  /** Drawing units per counted unit. */
  readonly scale: number;
}

function drawBar({ title, pieces, mark }: Bar, { x, width, scale }: Place): Markup {
  let y = HEIGHT;
  const rects = pieces.map(({ kind, value }) => {
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

export function total({ pieces }: Bar): number {
  return pieces.reduce((sum, { value }) => sum + value, 0);
}

function unit(value: number): string {
  return String(Math.round(value * 100) / 100);
}
