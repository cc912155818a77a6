import type { CheckOutcome } from '../core/contract/index.js';
import { html, type Markup, NOTHING } from './markup.js';
import { count, time } from './text.js';
import type { Slot } from './timeline.js';

const STEP = 7;
const SIZE = 5;
const HEIGHT = 12;

/** A row for each check, with its outcomes in the last runs, oldest first. @param slots oldest first */
export function checksTable(slots: readonly Slot[]): Markup {
  // In the order of the newest published run. Others are checks that are gone, or new ones that have only failed.
  const newest = slots.filter(({ kind }) => kind === 'published').reverse();
  const names = new Set([...newest, ...slots].flatMap((slot) => Object.keys(outcomesOf(slot))));
  if (names.size === 0) return NOTHING;
  const rows = [...names].map((name) => rowOf(name, slots));
  return html`<h3>Checks</h3><div class="scroll" tabindex="0"><table class="checks"><thead><tr><th scope="col">check</th><th scope="col">last outcome</th><th scope="col">last runs</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

/** The outcomes of a run by check. Of a run that checks have stopped, only the failed ones are known. */
function outcomesOf(slot: Slot): Readonly<Record<string, CheckOutcome>> {
  if (slot.kind === 'published') return slot.run.checks ?? {};
  if (slot.kind === 'missed') return {};
  return Object.fromEntries((slot.run.error?.checks ?? []).map((name) => [name, 'failed']));
}

function rowOf(name: string, slots: readonly Slot[]): Markup {
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
    const [y, height] = outcome === 'failed' ? [0, HEIGHT] : [(HEIGHT - SIZE) / 2, SIZE];
    return [
      html`<rect class="check-${outcome}" x="${at * STEP}" y="${y}" width="${SIZE}" height="${height}"><title>${title}</title></rect>`,
    ];
  });
  const width = slots.length * STEP;
  const told = (['failed', 'warned', 'accepted', 'skipped', 'passed'] as const).flatMap((outcome) => {
    const number = outcomes.filter((one) => one === outcome).length;
    return number === 0 ? [] : [`${count(number)} ${outcome}`];
  });
  const tone = last === 'passed' || last === 'skipped' ? 'ok' : last === 'failed' ? 'bad' : 'warn';
  return html`<tr><th scope="row"><bdi>${name}</bdi></th><td><span class="tag ${tone}">${last}</span></td><td><svg width="${width}" height="${HEIGHT}" viewBox="0 0 ${width} ${HEIGHT}" role="img" aria-label="${told.join(', ')}">${marks}</svg></td></tr>`;
}
