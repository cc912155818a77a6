import type { ExportResult, RunReport } from '../core/contract.js';
import { count, counted, table } from './text.js';

/** URL of the folder that holds a published snapshot, with a slash at its end. */
export function snapshotUrl(lakeUrl: string, { snapshot }: RunReport): string | null {
  return snapshot === null ? null : `${lakeUrl}/${snapshot.slice(0, snapshot.lastIndexOf('/') + 1)}`;
}

/** What was published and where, for stdout. */
export function publishedLines({ runs }: ExportResult, lakeUrl: string): string[] {
  const rows = runs.map((run) => [
    run.resource,
    run.outcome,
    run.rows === null ? '' : counted(run.rows, 'row'),
    countsText(run),
  ]);
  const lines = table(rows, [2]);
  return runs.flatMap((run, i) => {
    const url = snapshotUrl(lakeUrl, run);
    return url === null ? [lines[i] ?? ''] : [lines[i] ?? '', `  ${url}`];
  });
}

/** Warnings and reasons of failures, for stderr; a reason that several resources share is said once. */
export function troubleLines({ runs }: ExportResult): string[] {
  const warnings = runs.flatMap((run) =>
    run.warnings.map((text) => `warning: ${named([run.resource], text)}`),
  );
  const reasons = new Map<string, { outcome: string; message: string; resources: string[] }>();
  for (const { resource, outcome, error } of runs) {
    if (error === null) continue;
    const known = reasons.get(error.message);
    if (known === undefined)
      reasons.set(error.message, { outcome, message: error.message, resources: [resource] });
    else known.resources.push(resource);
  }
  const failures = [...reasons.values()].map((one) => `${one.outcome}: ${named(one.resources, one.message)}`);
  return [...warnings, ...failures];
}

/** Many messages begin with their resource themselves. */
function named(resources: readonly string[], message: string): string {
  const own = resources.length === 1 && message.startsWith(`${resources[0]}:`);
  return own ? message : `${resources.join(', ')}: ${message}`;
}

/** The counts that a reader asks for first; the rest is in the manifest and in `--json`. */
export function countsText({ counts }: RunReport): string {
  if (counts === null) return '';
  const said: [number, string][] = [
    [counts.inserted, 'new'],
    [counts.updated, 'changed'],
    [counts.unchanged, 'read again unchanged'],
    [counts.deleted, 'gone'],
  ];
  const parts = said.filter(([n]) => n > 0).map(([n, what]) => `${count(n)} ${what}`);
  return parts.length === 0 ? 'nothing new' : parts.join(', ');
}
