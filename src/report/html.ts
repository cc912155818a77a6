import { age, count, time } from '../core/short-text.js';
import { auditText } from '../lake/documents/audit-statement.js';
import { type ListedResource, listResources, needsAttention } from './attention.js';
import { figureSection } from './charts.js';
import { htmlPage } from './html-page.js';
import { html, type Markup, NOTHING } from './markup.js';
import type { Coverage, Report } from './model.js';
import { overview, summary } from './overview.js';
import { resourceSection } from './resource.js';

/** Maximum number of resources with a section, which keeps a page of thousands of resources at a few megabytes. */
const MAX_SECTIONS = 50;
/** With fewer resources, every section is open. */
const MANY_SECTIONS = 5;
/** Maximum number of connections in a note. */
const MAX_NAMED = 5;

/**
 * Renders the report as one self-contained HTML page without scripts or network access (its content security policy
 * forbids both): a table of all resources that starts with those that need attention, then a section for each. It fits a
 * phone and follows the system's light or dark mode. All values from the service, Temporal or the lake are escaped.
 */
export function renderReport({ madeAt, maxAgeMs, connections, figures = null }: Report): string {
  const all = listResources(connections);
  const many = connections.length > 1;
  const [only] = connections;
  const title = many || only === undefined ? `${count(connections.length)} connections` : only.connection;
  const lake = many || only === undefined ? '' : html`Mirrored to <bdi>${only.lake}</bdi>. `;
  const detailed = all.slice(0, MAX_SECTIONS);
  const anchors = new Map(detailed.map((one, at) => [one, `r${at}`]));
  const sections = detailed.map((one, at) =>
    resourceSection(one, {
      ...{ id: `r${at}`, maxAgeMs, many },
      open: all.length < MANY_SECTIONS || needsAttention(one),
    }),
  );
  const anchorOf = (one: ListedResource): string | null => anchors.get(one) ?? null;
  const rest =
    all.length > detailed.length
      ? html`<p class="dim">Details of the first ${count(detailed.length)} resources. For the others, run worktrack report --connection NAME</p>`
      : NOTHING;
  return htmlPage(
    html`${title}: export report`,
    html`<header><h1><bdi>${title}</bdi></h1><p class="dim">${lake}Created ${time(madeAt)}; ages refer to this time.</p>${summary(all)}</header>
${notes(connections)}${audits(connections, madeAt)}${overview(all, { maxAgeMs, many, anchorOf })}${figures === null ? NOTHING : figureSection(figures)}${sections}${rest}`,
  );
}

/** What the last audit of each connection found. */
function audits(connections: Report['connections'], now: number): readonly Markup[] {
  return connections.slice(0, MAX_SECTIONS).flatMap(({ connection, audit }) => {
    if (!audit) return [];
    const text = `audited ${age(now - Date.parse(audit.auditedAt))} ago: ${auditText(audit)}`;
    return [
      html`<p class="${audit.outcome === 'different' ? 'box bad' : 'dim'}"><bdi>${connection}</bdi> ${text}</p>`,
    ];
  });
}

/** What the page does not show, and why. */
const NOTES: Readonly<Record<Exclude<Coverage, 'complete'>, string>> = {
  published: 'This page shows published runs. The command “worktrack report” also shows failed runs.',
  'no-temporal':
    'Temporal did not respond, so failed and running runs are missing. This page shows only what is in the lake.',
  'no-worker': 'No worker answered. Runs in progress may be missing.',
};

function notes(connections: Report['connections']): readonly Markup[] {
  return (['no-temporal', 'no-worker', 'published'] as const).flatMap((coverage) => {
    const names = connections.filter((one) => one.coverage === coverage).map((one) => one.connection);
    if (names.length === 0) return [];
    const more = names.length - MAX_NAMED;
    const listed = `${names.slice(0, MAX_NAMED).join(', ')}${more > 0 ? ` and ${count(more)} more` : ''}`;
    const which = names.length === connections.length ? '' : ` Connections: ${listed}.`;
    const kind = coverage === 'no-temporal' ? 'box warn' : 'dim';
    return [html`<p class="${kind}">${NOTES[coverage]}${which}</p>`];
  });
}
