import { axisLine, barChart } from './chart.js';
import { html, type Markup } from './markup.js';
import { count } from './text.js';

/** Charts with one scale. */
export interface FigureGroup {
  readonly title: string;
  /** Where the values come from. */
  readonly note: string;
  /** After a value, such as `h`. */
  readonly unit: string;
  readonly figures: readonly Figure[];
}

interface Figure {
  readonly name: string;
  /** Oldest first. */
  readonly values: readonly { readonly label: string; readonly value: number }[];
}

/** A section with one bar chart for each figure. All have the scale of the largest value, so that they compare. */
export function figureSection({ title, note, unit, figures }: FigureGroup): Markup {
  const top = Math.max(0, ...figures.flatMap(({ values }) => values.map(({ value }) => value)));
  return html`<section><h2>${title}</h2><p class="dim">${note} All charts go from 0 to ${text(top)} ${unit}.</p><div class="charts">${figures.map((one) => draw(one, unit, top))}</div></section>`;
}

function draw({ name, values }: Figure, unit: string, top: number): Markup {
  const sum = values.reduce((all, { value }) => all + value, 0);
  const bars = values.map(({ label, value }) => ({
    title: `${label}: ${text(value)} ${unit}`,
    pieces: [{ kind: 'rows', value } as const],
  }));
  const chart = barChart({ label: `${name}: ${text(sum)} ${unit} in all`, bars, top });
  const [first, last] = [values[0], values.at(-1)].map((one) => one?.label ?? '');
  return html`<figure><figcaption><b><bdi>${name}</bdi></b><span>${text(sum)} ${unit}</span></figcaption>${chart}${axisLine(first!, last!)}</figure>`;
}

function text(value: number): string {
  return count(Math.round(value));
}
