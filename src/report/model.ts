import type { EpochMs, Millis, RunId, UtcSeconds } from '../core/brands.js';
import type { CheckOutcome, RunError, RunRecord } from '../core/contract/index.js';
import { DEFAULT_MAX_AGE_MS } from '../core/data-age.js';
import { factsOfRuns, judgeResource, type OtherRun, type Verdict } from '../core/resource-state.js';
import { schemaChangeTexts } from '../core/schema-changes.js';
import { count } from '../core/short-text.js';
import { warningText } from '../core/warnings.js';
import type { AuditStatement } from '../lake/documents/audit-statement.js';
import { type Manifest, warningsIn } from '../lake/documents/manifest.js';

/** Maximum number of runs per resource in a report. */
export const REPORTED_RUNS = 30;

/** The data of a report: counts, names, times and error messages, but no record content. */
export interface Report {
  readonly madeAt: EpochMs;
  /** Data that is older is stale. */
  readonly maxAgeMs: Millis;
  readonly connections: readonly ConnectionReport[];
  /** Charts of what the rows contain, which the caller computed; absent or `null`: none. */
  readonly figures?: FigureGroup | null | undefined;
}

export interface ConnectionReport {
  readonly connection: string;
  readonly lake: string;
  readonly coverage: Coverage;
  readonly resources: readonly ResourceReport[];
  /** The statement of the last audit; `null` or absent: there is none, or the report is of an earlier run. */
  readonly audit?: AuditStatement | null;
}

/**
 * Which runs a report can show. `published`: only these were read. `no-temporal`: Temporal did not answer, so failed and
 * running runs are missing. `no-worker`: a mirror did not answer, so runs in progress may be missing.
 */
export type Coverage = 'complete' | 'published' | 'no-temporal' | 'no-worker';

export interface ResourceReport {
  readonly resource: string;
  /** The time when the resource's age is judged. */
  readonly at: EpochMs;
  readonly verdict: Verdict;
  /** Published runs, newest first, at most `REPORTED_RUNS`; empty if nothing is published, or it cannot be read. */
  readonly runs: readonly ReportedRun[];
  /** Failed and running runs, newest first, without those in `runs`. */
  readonly unpublished: readonly UnpublishedRun[];
}

/** What a report keeps of the manifest of a published run. */
export interface ReportedRun
  extends Pick<
    Manifest,
    'runId' | 'mode' | 'updatedSince' | 'counts' | 'pages' | 'gap' | 'warnings' | 'deletes'
  > {
  readonly startedAt: EpochMs;
  readonly publishedAt: EpochMs;
  readonly checkpoint: UtcSeconds;
  readonly columns: number;
  /** Whether this is the first run of the lake, which inserts every row. */
  readonly isFirst: boolean;
  readonly schemaChanges: readonly string[];
  /** The outcome of each check before publish, by its name; absent: there were none. */
  readonly checks?: Readonly<Record<string, CheckOutcome>>;
}

/** A run that is in progress, or that ended without publishing. */
export interface UnpublishedRun extends OtherRun, Pick<RunRecord, 'resource' | 'runId'> {
  readonly error: Pick<RunError, 'message' | 'checks'> | null;
}

interface ResourceReportOptions {
  readonly at: EpochMs;
  readonly unpublished?: readonly UnpublishedRun[];
  /** The largest age of data that is not stale. Default: 26 hours. */
  readonly maxAgeMs?: Millis | undefined;
  /** Why the lake cannot be read. */
  readonly problem?: string;
  /** The connection of another name or URL that owns the lake, and what to do. */
  readonly owner?: string;
  /** What `status` says. Default: judged from these runs. */
  readonly verdict?: Verdict | undefined;
}

/** @param runs newest first, as `readHistory` gives them */
export function resourceReport(
  resource: string,
  runs: readonly Manifest[],
  options: ResourceReportOptions,
): ResourceReport {
  const { at, unpublished = [], maxAgeMs = DEFAULT_MAX_AGE_MS, problem = null, owner = null } = options;
  const seen = new Set<RunId | null>(runs.map(({ runId }) => runId));
  // An export and the mirror both report the last failed run.
  const isNew = ({ runId }: UnpublishedRun): boolean => {
    const known = runId !== null && seen.has(runId);
    seen.add(runId);
    return !known;
  };
  const reported = runs.map(toReportedRun);
  const others = unpublished
    .filter((run) => run.resource === resource && isNew(run))
    .sort((a, b) => b.startedAt - a.startedAt);
  const [newest] = reported;
  const isRolledBack = runs[0]?.rolledBack != null;
  const facts = factsOfRuns(newest === undefined ? null : { ...newest, rolledBack: isRolledBack }, others);
  const judged = judgeResource({ ...facts, problem, owner }, { maxAgeMs, at });
  return { resource, at, verdict: options.verdict ?? judged, runs: reported, unpublished: others };
}

function toReportedRun(run: Manifest): ReportedRun {
  const { runId, mode, updatedSince, counts, pages, gap, deletes, checks, schemaChanges: first = [] } = run;
  return {
    ...{ runId, mode, updatedSince, counts, pages, gap, deletes },
    startedAt: Date.parse(run.startedAt),
    publishedAt: Date.parse(run.publishedAt),
    checkpoint: run.checkpoint.updatedSince,
    columns: run.columns.length,
    isFirst: run.previousRunId === null,
    // A gap is shown separately.
    warnings: warningsIn(run)
      .filter(({ kind }) => kind !== 'gap' || gap === null)
      .map(warningText),
    schemaChanges: schemaChangeTexts({ first, count: first.length }),
    ...(checks === undefined
      ? {}
      : { checks: Object.fromEntries(checks.map(({ name, outcome }) => [name, outcome])) }),
  };
}

/** The number of rows that a run inserted, updated or deleted. */
export function changesOf({ counts: { inserted, updated, deleted } }: ReportedRun): number {
  return inserted + updated + deleted;
}

/** How many rows a run restated, because settings changed, as text; nothing for none. */
export function restatedText({ counts: { restated } }: ReportedRun): readonly string[] {
  return restated > 0 ? [`restated ${count(restated)} ${restated === 1 ? 'row' : 'rows'}`] : [];
}

/** The gap, warnings and schema changes of a run, as one list. */
export function shownWarnings({ gap, warnings, schemaChanges: schema }: ReportedRun): readonly string[] {
  return [
    ...(gap === null ? [] : [`gap: ${gap.from} to ${gap.to}`]),
    ...warnings,
    ...schema.map((text) => `schema change: ${text}`),
  ];
}

/** Charts with one scale. */
export interface FigureGroup {
  readonly title: string;
  /** Where the values come from. */
  readonly note: string;
  /** After a value, such as `h`. */
  readonly unit: string;
  readonly figures: readonly Figure[];
}

interface Figure {
  readonly name: string;
  /** Oldest first. */
  readonly values: readonly { readonly label: string; readonly value: number }[];
}

/** One place on the time axis of a resource's charts: a run, or a time when a run should have been published. */
export type Slot =
  | { readonly kind: 'published'; readonly at: number; readonly run: ReportedRun }
  | { readonly kind: 'failed'; readonly at: number; readonly run: UnpublishedRun }
  | { readonly kind: 'missed'; readonly from: number; readonly to: number };

type RunSlot = Exclude<Slot, { kind: 'missed' }>;

/**
 * The last runs of a resource, oldest first, at most `REPORTED_RUNS`. For every `maxAgeMs` between two runs, and after the
 * last run, there is a slot without a run, so that a mirror that stopped looks different from one without changes, even if
 * Temporal no longer knows its failed runs.
 */
export function timeline({ runs, unpublished, at }: ResourceReport, maxAgeMs: number): readonly Slot[] {
  const ended: RunSlot[] = [
    ...runs.map((run) => ({ kind: 'published' as const, at: run.startedAt, run })),
    ...unpublished
      .filter(({ outcome }) => outcome !== 'running')
      .map((run) => ({ kind: 'failed' as const, at: run.startedAt, run })),
  ];
  // Reversed first, because the sort keeps the order of runs that started in the same second.
  ended.reverse();
  ended.sort((a, b) => a.at - b.at);
  const active = unpublished.find(({ outcome }) => outcome === 'running');
  const until = Math.min(at, active?.startedAt ?? at);
  const slots = ended.flatMap((slot, i) => [slot, ...missed(slot.at, ended[i + 1]?.at ?? until, maxAgeMs)]);
  return slots.slice(-REPORTED_RUNS);
}

function missed(from: number, to: number, maxAgeMs: number): Slot[] {
  const places = Math.min(REPORTED_RUNS, Math.max(0, Math.floor((to - from) / maxAgeMs) || 0));
  return Array.from({ length: places }, () => ({ kind: 'missed', from, to }));
}
