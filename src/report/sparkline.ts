import { html, type Markup } from './markup.js';
import { changesOf, restatedText } from './model.js';
import { count, short } from './text.js';
import type { Slot } from './timeline.js';

const STEP = 4;
const BASE = 18;
/** Height of the highest bar. */
const HEIGHT = 17;
const MIN_HEIGHT = 2;

/**
 * The changes of the last runs as small bars that start at zero, each resource with its own scale, and marks below the
 * axis for failed and missing runs. A run without changes has no bar. One path for each kind keeps pages of thousands of
 * resources small.
 */
export function sparkline(slots: readonly Slot[]): Markup {
  const changes = slots.map((slot) =>
    // The first load would make all other bars too small to see.
    slot.kind === 'published' && !slot.run.isFirst ? changesOf(slot.run) : 0,
  );
  const runs = slots.filter(({ kind }) => kind === 'published').length;
  const of = (kind: Slot['kind']) => slots.filter((slot) => slot.kind === kind).length;
  const most = Math.max(0, ...changes);
  if (slots.length === 0) return html`<span class="dim">no runs</span>`;
  const [restated] = slots
    .flatMap((slot) => (slot.kind === 'published' ? restatedText(slot.run) : []))
    .slice(-1);
  const none = restated ?? 'no changes';
  if (most === 0 && runs === slots.length) {
    return html`<span class="dim">${slots.some((slot) => slot.kind === 'published' && slot.run.isFirst) && runs === 1 ? 'first load' : none}</span>`;
  }
  const left = (30 - slots.length) * STEP + STEP / 2;
  const at = (i: number): number => left + i * STEP;
  const bars = changes.flatMap((value, i) => {
    const height = Math.max(MIN_HEIGHT, (value / most) * HEIGHT);
    return value > 0 ? [`M${at(i)} ${BASE}v-${Math.round(height * 10) / 10}`] : [];
  });
  const marks = (kind: Slot['kind']) =>
    slots.flatMap((slot, i) => (slot.kind === kind ? [`M${at(i)} ${BASE + 2}v8`] : []));
  const told = [
    `${count(runs)} published`,
    ...(of('failed') > 0 ? [`${count(of('failed'))} failed`] : []),
    ...(of('missed') > 0 ? [`${count(of('missed'))} missing`] : []),
    `changes in a run: at most ${count(most)}`,
  ];
  const paths = [
    ['changes', bars],
    ['failed', marks('failed')],
    ['missed', marks('missed')],
  ] as const;
  const drawn = paths.flatMap(([kind, path]) =>
    path.length === 0 ? [] : [html`<path class="${kind}" d="${path.join('')}"/>`],
  );
  return html`<svg class="spark" viewBox="0 0 ${30 * STEP} 28" role="img" aria-label="${told.join(', ')}"><path class="axis" d="M${left - STEP / 2} ${BASE + 0.5}H${30 * STEP}"/>${drawn}</svg><span class="most">${most === 0 ? none : `max ${short(most)}`}</span>`;
}
