import { html, type Markup, raw } from './markup.js';

/** One bar: what its pieces add up to, from below, each in the colour of its class. */
export interface Bar {
  /** Shown when somebody points at it. */
  readonly title: string;
  readonly pieces: readonly { readonly kind: PieceKind; readonly value: number }[];
}

export type PieceKind = 'rows' | 'inserted' | 'updated' | 'deleted' | 'time';

export interface Chart {
  /** For who cannot see it: what is shown, and the newest value. */
  readonly label: string;
  /** Oldest first. */
  readonly bars: readonly Bar[];
  /** Bars begin here and not at nought; for values that hardly change. */
  readonly floor?: number;
}

const WIDTH = 300;
const HEIGHT = 72;
/** What is not nought shows. */
const LEAST = 1.5;
/** A few bars do not become walls. */
const MOST_WIDE = 18;

/** Bars as an SVG that takes the width it is given. Colours are the page's. */
export function barChart({ label, bars, floor = 0 }: Chart): Markup {
  const top = Math.max(...bars.map(total), floor);
  const scale = top > floor ? HEIGHT / (top - floor) : 0;
  const step = Math.min(WIDTH / Math.max(1, bars.length), MOST_WIDE);
  const left = WIDTH - step * bars.length;
  const drawn = bars.map((bar, at) =>
    drawBar(bar, { x: left + at * step, width: step * 0.78, scale, floor }),
  );
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}">${drawn}<line class="axis" x1="0" x2="${WIDTH}" y1="${HEIGHT}" y2="${HEIGHT}"/></svg>`;
}

interface Place {
  readonly x: number;
  readonly width: number;
  /** Units of the drawing for one of what is counted. */
  readonly scale: number;
  readonly floor: number;
}

function drawBar({ title, pieces }: Bar, { x, width, scale, floor }: Place): Markup {
  let y = HEIGHT;
  let below = floor;
  const rects = pieces.map(({ kind, value }) => {
    const shown = Math.max(0, value - below);
    below = Math.max(0, below - value);
    if (value <= 0) return raw('');
    const height = Math.max(LEAST, shown * scale);
    y -= height;
    return html`<rect class="${kind}" x="${unit(x)}" y="${unit(Math.max(0, y))}" width="${unit(width)}" height="${unit(height)}"/>`;
  });
  return html`<g><title>${title}</title><rect class="hit" x="${unit(x)}" y="0" width="${unit(width)}" height="${HEIGHT}"/>${rects}</g>`;
}

export function total({ pieces }: Bar): number {
  return pieces.reduce((sum, { value }) => sum + value, 0);
}

function unit(value: number): string {
  return String(Math.round(value * 100) / 100);
}
