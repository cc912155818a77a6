import type { ExportResult, RunReport } from '../../core/contract/index.js';
import { count, counted, table } from '../shared/text.js';

/** URL of the folder of a published snapshot, with a trailing slash. */
export function snapshotUrl(lakeUrl: string, { snapshot }: RunReport): string | null {
  return snapshot === null ? null : `${lakeUrl}/${snapshot.slice(0, snapshot.lastIndexOf('/') + 1)}`;
}

/** The rows, counts and snapshot URL of each resource, for stdout. */
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

/** Warnings and errors, for stderr; an error that several resources share is printed once. */
export function diagnosticLines({ runs }: ExportResult): string[] {
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

/** Adds the resource to a message, unless the message begins with it. */
function named(resources: readonly string[], message: string): string {
  const own = resources.length === 1 && message.startsWith(`${resources[0]}:`);
  return own ? message : `${resources.join(', ')}: ${message}`;
}

/** The most important counts; the others are in the manifest and in `--json`. */
export function countsText({ counts }: RunReport): string {
  if (counts === null) return '';
  const shown: [number, string][] = [
    [counts.inserted, 'new'],
    [counts.updated, 'changed'],
    [counts.unchanged, 'unchanged'],
    [counts.deleted, 'deleted'],
  ];
  const parts = shown.filter(([n]) => n > 0).map(([n, what]) => `${count(n)} ${what}`);
  return parts.length === 0 ? 'no changes' : parts.join(', ');
}
