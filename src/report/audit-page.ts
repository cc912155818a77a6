import { count, time } from '../core/short-text.js';
import { type AuditedResource, type AuditStatement, sumOfAudits } from '../lake/documents/audit-statement.js';
import { htmlPage } from './html-page.js';
import { html, type Markup, NOTHING } from './markup.js';

const COUNTS = [
  ['rows', 'Rows'],
  ['cells', 'Cells compared'],
  ['equal', 'Equal'],
  ['different', 'Different'],
  ['missing', 'Missing'],
  ['extra', 'Extra'],
  ['pending', 'Pending'],
  ['notYetLookedFor', 'Not yet looked for'],
  ['notComparable', 'Not comparable'],
] as const;

/** The statement of an audit as a page for people. */
export function auditPage(statement: AuditStatement): string {
  const { connection, baseUrl, auditedAt, outcome, partial, version, resources } = statement;
  const { rows, cells, differences } = sumOfAudits(statement);
  const words = {
    equal: 'no difference',
    different: `${count(differences)} differences`,
    'not-compared': 'nothing compared',
    failed: 'not complete',
  };
  const tone = { equal: 'ok', different: 'bad', 'not-compared': 'warn', failed: 'warn' }[outcome];
  const heads = COUNTS.map(([, head]) => html`<th scope="col">${head}</th>`);
  return htmlPage(
    html`${connection}: audit`,
    html`<header><h1><bdi>${connection}</bdi>: audit</h1><p class="dim">The snapshots of <bdi>${baseUrl}</bdi>, compared with the service until ${time(Date.parse(auditedAt))} by worktrack ${version}.</p>
<ul class="sum"><li class="${tone}">${words[outcome]}</li><li>${count(rows)} rows</li><li>${count(cells)} cells compared</li>${partial ? html`<li class="warn">partial</li>` : NOTHING}</ul></header>
<section><div class="scroll"><table class="runs"><thead><tr><th scope="col">Resource</th>${heads}</tr></thead><tbody>${resources.map(row)}</tbody></table></div></section>
${resources.flatMap(source)}`,
  );
}

function row(one: AuditedResource): Markup {
  if ('error' in one)
    return html`<tr class="bad"><th scope="row"><bdi>${one.name}</bdi></th><td colspan="9">not compared (${one.error})</td></tr>`;
  const cells = COUNTS.map(([name]) => html`<td>${count(one[name])}</td>`);
  return html`<tr><th scope="row"><bdi>${one.name}</bdi></th>${cells}</tr>`;
}

/** What was compared, so that others can check it. */
function source(one: AuditedResource): Markup[] {
  if ('error' in one) return [];
  const { name, snapshot, checkpoint, readings, requests, limits } = one;
  const partial = limits.length === 0 ? '' : ` Partial: ${limits.join(', ')}.`;
  return [
    html`<p class="dim"><bdi>${name}</bdi>: ${snapshot.key}, SHA-256 ${snapshot.sha256}; changes since ${checkpoint ?? 'never'} are pending; ${readings} readings, ${count(requests)} requests.${partial}</p>`,
  ];
}
