import type { RunId, UtcSeconds } from '../core/brands.js';
import type { RunCounts, RunMode } from '../core/contract.js';
import type { Manifest } from '../lake/manifest.js';
import { schemaChanges } from '../lake/schema.js';
import type { Gap } from '../lake/watermark.js';

/** Runs that a report goes back at most. */
export const REPORTED_RUNS = 30;

/** What a report says; counts, names and times, and nothing of any record. */
export interface Report {
  readonly connection: string;
  readonly lake: string;
  /** Milliseconds since 1970. */
  readonly madeAt: number;
  readonly resources: readonly ResourceReport[];
}

export interface ResourceReport {
  readonly resource: string;
  /** Newest first, `REPORTED_RUNS` at most; none where nothing is published or `problem` says why it is not known. */
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
  /** The first run of a lake: everything is new to it. */
  readonly isFirst: boolean;
  readonly warnings: readonly string[];
  readonly schemaChanges: readonly string[];
}

/** @param runs newest first, as `readHistory` gives them */
export function resourceReport(resource: string, runs: readonly Manifest[]): ResourceReport {
  return { resource, problem: null, runs: runs.map((run, at) => reportedRun(run, runs[at + 1])) };
}

/** Of a resource without runs to show. */
export function withoutRuns(resource: string, problem: string | null): ResourceReport {
  return { resource, problem, runs: [] };
}

function reportedRun(run: Manifest, before: Manifest | undefined): ReportedRun {
  // A warning that tells of the schema is shown among its changes, and not twice.
  const changes =
    before === undefined
      ? run.warnings.filter((warning) => SCHEMA.test(warning))
      : schemaChanges(before.columns, run.columns);
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
    // Nor one that only tells of the gap.
    warnings: run.warnings.filter((warning) => !changes.includes(warning) && !isOfGap(run, warning)),
    schemaChanges: changes,
  };
}

function isOfGap({ gap }: Manifest, warning: string): boolean {
  return gap !== null && warning.startsWith('gap: ');
}

/** As `schemaChanges` words them. */
const SCHEMA = /^new column "|^".*" was .* and is now also /s;
