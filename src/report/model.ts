import type { RunId, UtcSeconds } from '../core/brands.js';
import type { RunCounts, RunMode } from '../core/contract/index.js';
import type { Manifest } from '../lake/published/manifest.js';
import { isSchemaChange, schemaChanges } from '../lake/rows/schema.js';
import type { Gap } from '../lake/run/watermark.js';

/** Maximum number of runs per resource in a report. */
export const REPORTED_RUNS = 30;

/** The data of a report: counts, names and times, but no record content. */
export interface Report {
  readonly connection: string;
  readonly lake: string;
  /** Milliseconds since 1970. */
  readonly madeAt: number;
  readonly resources: readonly ResourceReport[];
}

export interface ResourceReport {
  readonly resource: string;
  /** Newest first, at most `REPORTED_RUNS`; empty if nothing is published or `problem` is set. */
  readonly runs: readonly ReportedRun[];
  readonly problem: string | null;
}

/** One published run. Times are milliseconds since 1970. */
export interface ReportedRun {
  readonly runId: RunId;
  readonly mode: RunMode;
  readonly startedAt: number;
  readonly publishedAt: number;
  readonly updatedSince: UtcSeconds | null;
  readonly checkpoint: UtcSeconds;
  readonly counts: RunCounts;
  readonly pages: number;
  readonly columns: number;
  readonly gap: Gap | null;
  /** Whether this is the first run of the lake, in which every row is inserted. */
  readonly isFirst: boolean;
  readonly warnings: readonly string[];
  readonly schemaChanges: readonly string[];
}

/** @param runs newest first, as `readHistory` gives them */
export function resourceReport(resource: string, runs: readonly Manifest[]): ResourceReport {
  return { resource, problem: null, runs: runs.map((run, at) => reportedRun(run, runs[at + 1])) };
}

/** The report of a resource without published runs. */
export function withoutRuns(resource: string, problem: string | null): ResourceReport {
  return { resource, problem, runs: [] };
}

function reportedRun(run: Manifest, before: Manifest | undefined): ReportedRun {
  // Warnings of schema changes appear under the schema changes only.
  const changes =
    before === undefined ? run.warnings.filter(isSchemaChange) : schemaChanges(before.columns, run.columns);
  const shown = new Set(changes);
  return {
    runId: run.runId,
    mode: run.mode,
    startedAt: Date.parse(run.startedAt),
    publishedAt: Date.parse(run.publishedAt),
    updatedSince: run.updatedSince,
    checkpoint: run.checkpoint.updatedSince,
    counts: run.counts,
    pages: run.pages,
    columns: run.columns.length,
    gap: run.gap,
    isFirst: run.previousRunId === null,
    // A gap is shown separately.
    warnings: run.warnings.filter((warning) => !shown.has(warning) && !isGapWarning(run, warning)),
    schemaChanges: changes,
  };
}

function isGapWarning({ gap }: Manifest, warning: string): boolean {
  return gap !== null && warning.startsWith('gap: ');
}
