import type { RunId, UtcSeconds } from '../../core/brands.js';
import type { CheckOutcome, DeleteDetection, PublishedMode, RunCounts } from '../../core/contract/index.js';
import { cutText } from '../../core/text-budget.js';
import type { CheckResult } from '../checks/result.js';
import { type Column, isSchemaChange, schemaChanges } from '../rows/schema.js';
import type { Gap } from '../run/watermark.js';
import type { Manifest } from './manifest.js';

/** Maximum number of runs per resource in a report, and in the manifest of a snapshot. */
export const REPORTED_RUNS = 30;
/** The change log's manifest of each run has all warnings. */
const MAX_WARNINGS = 20;
const MAX_WARNING_BYTES = 600;

/** One published run. Times are milliseconds since 1970. */
export interface ReportedRun {
  readonly runId: RunId;
  readonly mode: PublishedMode;
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
  /** What is known about deletes of the resource. */
  readonly deletes: DeleteDetection;
  readonly schemaChanges: readonly string[];
  /** The outcome of each check before publish, by its name; absent: there were none. */
  readonly checks?: Readonly<Record<string, CheckOutcome>>;
}

/** The fields of a manifest that a report shows. */
type Reportable = Pick<
  Manifest,
  | 'runId'
  | 'mode'
  | 'startedAt'
  | 'publishedAt'
  | 'updatedSince'
  | 'checkpoint'
  | 'counts'
  | 'pages'
  | 'columns'
  | 'gap'
  | 'previousRunId'
  | 'warnings'
  | 'deletes'
  | 'checks'
>;

/** @param before the run before it; `undefined` if it is not known */
export function toReportedRun(
  run: Reportable,
  before: { readonly columns: readonly Column[] } | undefined,
): ReportedRun {
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
    deletes: run.deletes,
    ...(run.checks === undefined ? {} : { checks: outcomesOf(run.checks) }),
  };
}

function outcomesOf(checks: readonly CheckResult[]): Record<string, CheckOutcome> {
  return Object.fromEntries(checks.map(({ name, outcome }) => [name, outcome]));
}

/** A run with its warnings limited, as the manifests of later snapshots repeat it. */
export function shortened(run: ReportedRun): ReportedRun {
  const limited = (texts: readonly string[]): readonly string[] =>
    texts.slice(0, MAX_WARNINGS).map((text) => cutText(text, MAX_WARNING_BYTES));
  return { ...run, warnings: limited(run.warnings), schemaChanges: limited(run.schemaChanges) };
}

function isGapWarning({ gap }: Reportable, warning: string): boolean {
  return gap !== null && warning.startsWith('gap: ');
}
