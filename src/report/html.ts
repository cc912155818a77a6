import { html, type Markup, NOTHING, raw } from './markup.js';
import type { Report, ResourceReport } from './model.js';
import { resourceSection } from './resource.js';
import { STYLE } from './style.js';
import { count, time } from './text.js';

/**
 * The report as one HTML page that needs nothing else: no script, no network (its own policy forbids both), readable on
 * a phone, light or dark as the reader's system is. Whatever comes from the service or the lake is escaped.
 */
export function renderReport(report: Report): string {
  const { connection, lake, madeAt, resources } = report;
  const sections = resources.map((one, at) => resourceSection(one, anchor(at)));
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"><meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark"><title>${connection}: what was exported</title><style>${raw(STYLE)}</style></head>
<body><main><header><h1><bdi>${connection}</bdi></h1><p class="dim">Mirrored into <bdi>${lake}</bdi>. This report was made ${time(madeAt)}; it tells of published runs.</p></header>
${overview(resources)}${sections}</main></body></html>
`;
  return page.text;
}

function overview(resources: readonly ResourceReport[]): Markup {
  if (resources.length < 2) return NOTHING;
  const links = resources.map((one, at) => {
    const [last] = one.runs;
    const rows = last === undefined ? 'nothing' : `${count(last.counts.rows)} rows`;
    return html`<a href="#${anchor(at)}"${warns(one) ? raw(' class="tag warn"') : NOTHING}><bdi>${one.resource}</bdi>: ${rows}</a>`;
  });
  return html`<nav>${links}</nav>`;
}

function warns({ runs: [last], problem }: ResourceReport): boolean {
  if (last === undefined) return problem !== null;
  return last.gap !== null || last.warnings.length > 0 || last.schemaChanges.length > 0;
}

function anchor(at: number): string {
  return `r${at}`;
}
