import { FAILED_RUN, type ProblemKind } from '../alert-events.js';
import type { EpochMs, Millis } from '../brands.js';
import type {
  ConfirmationAlert,
  FoundProblem,
  Observation,
  ReportAlertsInput,
  WriteBackAlert,
} from '../contract/alerts.js';
import type { AuditReport } from '../contract/run-reports.js';
import { type AgeLimit, behindSince } from '../data-age.js';
import { findProblems, NOTHING_KNOWN, type Problem, type ResourceFacts } from '../find-problems.js';
import { parseRunDate } from '../run-id.js';
import { time } from '../short-text.js';
import { cutText } from '../text-budget.js';
import { type StoredWarning, toWarning } from '../warnings.js';

type EndedRun = ReportAlertsInput['runs'][number];

/** Most fields in one text. */
const MAX_NAMED = 5;
/** Most bytes of one text, and of the texts of one report: Temporal refuses a signal of 2 MiB. */
const MAX_TEXT_BYTES = 500;
const MAX_TEXTS_BYTES = 400_000;
const MIN_TEXT_BYTES = 80;

/** Observations whose texts are short enough for one report. */
export function withinBudget(observations: readonly Observation[]): Observation[] {
  const found = observations.flatMap(({ problems }) => problems).length;
  const share = Math.floor(MAX_TEXTS_BYTES / Math.max(1, found));
  const most = Math.min(MAX_TEXT_BYTES, Math.max(MIN_TEXT_BYTES, share));
  return observations.map((observation) => ({
    ...observation,
    problems: observation.problems.map((problem) => ({
      ...problem,
      text: cutText(problem.text, most),
      // It has the names of fields, which the service chooses. Its beginning tells states apart.
      mark: cutText(problem.mark, MAX_TEXT_BYTES),
    })),
  }));
}

/** What an ended run says of its resource. A published run ends what failed before; a cancelled run says nothing. */
export function observeRun(run: EndedRun): Observation[] {
  const { resource, outcome, error, warnings, schemaChanges } = run;
  // An audit that has compared nothing does not end the problem that another has found.
  if (outcome === 'cancelled' || outcome === 'not-compared') return [];
  if (run.audit !== undefined) return [observeAudit(resource, run.audit)];
  const lastRun = { outcome, error, warnings, startedAt: null, ...(schemaChanges && { schemaChanges }) };
  // A failed run does not say whether the warnings of the one before still hold.
  const kinds = outcome === 'published' ? [FAILED_RUN, OF_PUBLISHED] : [FAILED_RUN];
  return kinds.map((covers) => {
    const problems = problemsOf({ lastRun }, covers).map(
      ({ event: kind, cause }): FoundProblem => ({
        ...{ kind, mark: markOf(kind, run) },
        // The message of an alert names the resource itself.
        text: cause.startsWith(`${resource}: `) ? cause.slice(resource.length + 2) : cause,
      }),
    );
    return { resource, covers, problems, ...(run.runId !== null && { asOf: parseRunDate(run.runId) }) };
  });
}

/** Kinds of what a published run may report. */
const OF_PUBLISHED: readonly ProblemKind[] = ['warning', 'schema-change'];

/** The problems of these kinds that the judge of `status` finds in what is known. */
function problemsOf(
  facts: Partial<ResourceFacts>,
  covers: readonly ProblemKind[],
  limit: AgeLimit = { maxAgeMs: Number.POSITIVE_INFINITY, at: 0 },
): (Problem & { readonly event: ProblemKind })[] {
  const isCovered = (found: Problem): found is Problem & { readonly event: ProblemKind } =>
    found.event !== null && covers.includes(found.event);
  return findProblems({ ...NOTHING_KNOWN, ...facts }, limit).filter(isCovered);
}

/** What makes a problem of a run the same as that of the run before: the type of its error, or the kinds of its warnings. */
function markOf(kind: ProblemKind, { outcome, runId, error, warnings }: EndedRun): string {
  if (kind === 'warning') return kindsOf(warnings);
  if (kind === 'schema-change') return runId ?? '';
  return [error?.type ?? outcome, ...(error?.scope === undefined ? [] : [error.scope])].join(' ');
}

/** What an audit says of its resource. Other counts are another state. */
function observeAudit(resource: string, { different, missing, extra }: AuditReport): Observation {
  const covers = ['audit'] as const;
  if (different + missing + extra === 0) return { resource, covers, problems: [] };
  const counts = [
    [different, 'different'],
    [missing, 'missing'],
    [extra, 'extra'],
  ] as const;
  const text = `${namedCounts(counts).join(', ')} rows in the snapshot`;
  const mark = [different, missing, extra].join(' ');
  return { resource, covers, problems: [{ kind: 'audit', mark, text }] };
}

/** The kinds of warnings. Counts in warnings change every night, their kinds do not. */
function kindsOf(warnings: readonly StoredWarning[]): string {
  const kinds = warnings.map((warning) => toWarning(warning).kind).filter((kind) => kind !== 'more');
  return [...new Set(kinds)].sort().join(',');
}

/** The numbers of things that there are. */
function namedCounts(counts: readonly (readonly [number, string])[]): string[] {
  return counts.flatMap(([n, word]) => (n === 0 ? [] : [`${n} ${word}`]));
}

/** What an ended write-back says of its resource. */
export function observeWriteBack(ended: WriteBackAlert): Observation {
  const { resource, batchId, rejected, unknown, unsent, differs = [], error } = ended;
  const covers = ['rows-not-written'] as const;
  const counts = [
    [rejected, 'rejected'],
    [unknown, 'unknown'],
    [unsent, 'not sent'],
  ] as const;
  const named = [
    ...namedCounts(counts),
    ...differs
      .slice(0, MAX_NAMED)
      .map(({ field, rows }) => `${field} differs in ${rows} ${rows === 1 ? 'row' : 'rows'}`),
  ];
  if (named.length === 0 && error === null) return { resource, covers, problems: [] };
  const why = error === null ? '' : `. ${error.message}`;
  const text = `batch ${batchId}: ${named.join(', ') || 'it stopped'}${why}`;
  const mark = [batchId, rejected, unknown, unsent, ...differs.map(({ field }) => field)].join(' ');
  return { resource, covers, problems: [{ kind: 'rows-not-written', mark, text }] };
}

/** What the end of the looks for the written rows of a batch says of its resource. */
export function observeConfirmation({ resource, batchId, differs, notSeen }: ConfirmationAlert): Observation {
  const kind = 'rows-not-confirmed';
  if (differs + notSeen === 0) return { resource, covers: [kind], problems: [] };
  const counts = [
    [notSeen, 'not seen'],
    [differs, 'with other values'],
  ] as const;
  const named = namedCounts(counts).join(' and ');
  const text = `batch ${batchId}: of the rows that the service has accepted, ${named}`;
  return { resource, covers: [kind], problems: [{ kind, mark: `${batchId} ${notSeen} ${differs}`, text }] };
}

/** The checkpoint of the published data, and how old it may be for each target; milliseconds. */
interface Ages {
  readonly now: number;
  readonly dataFrom: number;
  /** By id of the target; targets that do not ask are left out. */
  readonly maxAges: ReadonlyMap<string, number>;
}

/** Whether the data of a resource are too old for some targets, and when the next target will find them so. */
export function observeAge(
  resource: string,
  { now, dataFrom, maxAges }: Ages,
): { readonly observation: Observation; readonly checkAt: number | null } {
  const covers = ['stale'] as const;
  const isTooOld = (maxAgeMs: number): boolean =>
    problemsOf({ dataFrom }, covers, { maxAgeMs, at: now }).length > 0;
  const only = [...maxAges].filter(([, maxAgeMs]) => isTooOld(maxAgeMs)).map(([id]) => id);
  const later = [...maxAges.values()].filter((maxAgeMs) => !isTooOld(maxAgeMs));
  const text = `nothing newer than ${time(dataFrom)} is published`;
  const problems = only.length === 0 ? [] : [{ kind: 'stale', mark: 'stale', text, only } as const];
  return {
    observation: { resource, covers, problems, asOf: now },
    // The first millisecond when the data is too old.
    checkAt: later.length === 0 ? null : dataFrom + Math.min(...later) + 1,
  };
}

/** The resource of an event about a connection as a whole. */
export const WHOLE_CONNECTION = '';

/** A run of the connection was published, so one has started. */
export const HAS_STARTED: Observation = { resource: WHOLE_CONNECTION, covers: ['behind'], problems: [] };

/**
 * Whether the last run that was due has started.
 *
 * @param dueAt nominal start of that run; `null`: none was due
 * @param startedAt when the newest run started; `null`: none has
 */
export function observeSchedule(dueAt: EpochMs | null, startedAt: EpochMs | null, now: EpochMs): Observation {
  const facts = { behindSince: behindSince(dueAt, startedAt, now) };
  const problems = problemsOf(facts, HAS_STARTED.covers).map(({ since }): FoundProblem => {
    const text = `no run has started since ${time(since!)}, when one was due`;
    return { kind: 'behind', mark: 'behind', text, dueAt: since! };
  });
  return { ...HAS_STARTED, problems };
}

/** The longest time between two of these moments; `null` if there are fewer than two. */
export function longestGap(times: readonly number[]): Millis | null {
  if (times.length < 2) return null;
  return Math.max(...times.slice(1).map((time, at) => time - times[at]!));
}
