import { groupBy } from '../core/group-by.js';
import { STATE_NAMES } from '../core/resource-state.js';
import { age, count, cut, minute } from '../core/short-text.js';
import { countsByState, type ListedResource, needsAttention, when } from './attention.js';
import { html, type Markup, NOTHING } from './markup.js';
import { changesOf, type ReportedRun, restatedText, type Slot, timeline } from './model.js';
import { short } from './number-text.js';

const LONGEST_CAUSE = 500;
const COLUMNS = ['Resource', 'State', 'Rows', 'Published (UTC)', 'Changes', 'Changes in the last 30 runs'];

interface OverviewOptions {
  readonly maxAgeMs: number;
  /** Whether the page has several connections, so that names include them. */
  readonly many: boolean;
  /** The link target of a resource's section; `null` if it has none. */
  anchorOf(listed: ListedResource): string | null;
}

/** How many resources are in each state, the ones that need attention first. */
export function summary(all: readonly ListedResource[]): Markup {
  const items = countsByState(all).map(
    ({ text, count: found, tone }) => html`<li class="${tone}"><b>${count(found)}</b> ${text}</li>`,
  );
  return html`<ul class="sum" aria-label="Resources by state">${items}</ul>`;
}

/**
 * The table of all resources. Neighbours with the same cause share one line below them that gives it. The roles keep the
 * table's meaning where the style of narrow screens lays its rows out as grids.
 */
export function overview(all: readonly ListedResource[], options: OverviewOptions): Markup {
  const bodies = grouped(all).map((group) => {
    const rows = group.map((one) => row(one, options));
    return html`<tbody role="rowgroup" class="${group[0]!.tone}">${rows}${causeRow(group)}</tbody>`;
  });
  const heads = COLUMNS.map((name) => html`<th role="columnheader" scope="col">${name}</th>`);
  const legend = html`<p class="legend"><i class="changes"></i>changes in a run (bars start at zero; each row has its own scale) <i class="failed"></i>failed run <i class="missed"></i>no published run</p>`;
  return html`<section class="all"><table role="table" aria-label="All resources"><thead role="rowgroup"><tr role="row">${heads}</tr></thead>${bodies}</table>${legend}</section>`;
}

/** Adjacent resources of one connection with the same state and cause; all healthy ones are one group. */
function grouped(all: readonly ListedResource[]): ListedResource[][] {
  const groups = groupBy(all, (one) => {
    const { connection, report, cause } = one;
    return needsAttention(one) ? JSON.stringify([connection.connection, report.verdict.state, cause]) : '';
  });
  return [...groups.values()];
}

function row(listed: ListedResource, { maxAgeMs, many, anchorOf }: OverviewOptions): Markup {
  const { connection, report, tone } = listed;
  const [last] = report.runs;
  const name = html`${many ? html`<bdi class="dim">${connection.connection}</bdi> ` : NOTHING}<bdi>${report.resource}</bdi>`;
  const anchor = anchorOf(listed);
  const hasChanges = last !== undefined && (last.isFirst || changesOf(last) > 0);
  const linked = anchor === null ? name : html`<a href="#${anchor}">${name}</a>`;
  const published =
    last === undefined
      ? html`<span class="dim">never</span>`
      : html`${minute(last.publishedAt)} <span class="dim">${age(report.at - last.publishedAt)} ago</span>`;
  return html`<tr role="row"><th role="rowheader" scope="row">${linked}</th><td role="cell"><span class="tag ${tone}">${STATE_NAMES[report.verdict.state]}</span></td><td role="cell" class="n">${last === undefined ? '–' : count(last.counts.rows)}</td><td role="cell">${published}</td><td role="cell"${hasChanges ? NOTHING : html` class="none"`}>${last === undefined ? '–' : changes(last)}</td><td role="cell" class="trend">${sparkline(timeline(report, maxAgeMs))}</td></tr>
`;
}

function changes(run: ReportedRun): string {
  if (run.isFirst) return 'first load';
  const { inserted, updated, deleted } = run.counts;
  const texts = Object.entries({ inserted, updated, deleted }).flatMap(([name, value]) =>
    value === 0 ? [] : [`${count(value)} ${name}`],
  );
  return [...texts, ...restatedText(run)].join(', ') || 'none';
}

function causeRow(group: readonly ListedResource[]): Markup {
  const [{ cause }] = group as [ListedResource];
  if (cause === null) return NOTHING;
  const times = when(group);
  const prefix = group.length > 1 ? `These ${count(group.length)} resources. ` : '';
  return html`<tr role="row" class="why"><td role="cell" colspan="6">${prefix}${times === '' ? '' : html`<b>${times}:</b> `}<bdi>${cut(cause, LONGEST_CAUSE)}</bdi></td></tr>`;
}

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
function sparkline(slots: readonly Slot[]): Markup {
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
