import { html, type Markup, raw } from './markup.js';

/** One stacked bar; its pieces are drawn from bottom to top. */
export interface Bar {
  /** Tooltip. */
  readonly title: string;
  readonly pieces: readonly { readonly kind: PieceKind; readonly value: number }[];
}

export type PieceKind = 'rows' | 'inserted' | 'updated' | 'deleted' | 'time';

interface Chart {
  /** Text for screen readers: what the chart shows, and the newest value. */
  readonly label: string;
  /** Oldest first. */
  readonly bars: readonly Bar[];
  /** Value at the bottom of the bars, above zero for values that hardly change. */
  readonly floor?: number;
}

const WIDTH = 300;
const HEIGHT = 72;
/** Minimum height of a piece above zero, so that it is visible. */
const MIN_HEIGHT = 1.5;
/** Maximum width of a bar and its gap. */
const MAX_STEP = 18;

/** Renders bars as an SVG that scales to the available width. The page's style sets the colours. */
export function barChart({ label, bars, floor = 0 }: Chart): Markup {
  const top = Math.max(...bars.map(total), floor);
  const scale = top > floor ? HEIGHT / (top - floor) : 0;
  const step = Math.min(WIDTH / Math.max(1, bars.length), MAX_STEP);
  const left = WIDTH - step * bars.length;
  const drawn = bars.map((bar, at) =>
    drawBar(bar, { x: left + at * step, width: step * 0.78, scale, floor }),
  );
  return html`<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${label}">${drawn}<line class="axis" x1="0" x2="${WIDTH}" y1="${HEIGHT}" y2="${HEIGHT}"/></svg>`;
}

interface Place {
  readonly x: number;
  readonly width: number;
  /** Drawing units per counted unit. */
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
    const height = Math.max(MIN_HEIGHT, shown * scale);
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
