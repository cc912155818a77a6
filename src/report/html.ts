import { html, type Markup, NOTHING, raw } from './markup.js';
import type { Report, ResourceReport } from './model.js';
import { resourceSection } from './resource.js';
import { STYLE } from './style.js';
import { count, time } from './text.js';

/**
 * Renders the report as one self-contained HTML page without scripts or network access (its content security policy
 * forbids both). It fits a phone and follows the system's light or dark mode. All values from the service or the lake
 * are escaped.
 */
export function renderReport(report: Report): string {
  const { connection, lake, madeAt, resources } = report;
  const sections = resources.map((one, at) => resourceSection(one, anchor(at)));
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"><meta name="referrer" content="no-referrer"><meta name="color-scheme" content="light dark"><title>${connection}: export report</title><style>${raw(STYLE)}</style></head>
<body><main><header><h1><bdi>${connection}</bdi></h1><p class="dim">Mirrored to <bdi>${lake}</bdi>. Created ${time(madeAt)}. The report covers published runs.</p></header>
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
