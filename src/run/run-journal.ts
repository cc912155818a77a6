import { z } from 'zod';
import type { ObjectKey } from '../core/brands.js';
import type { DeletesProblem, NextPhase, PhaseName, RunRef } from '../core/contract/index.js';
import { NO_WORDS, type WordsSpent } from '../core/unproven-limits.js';
import { inFolder, stagingFolder } from '../lake/documents/lake-layout.js';
import type { PublishedPart } from '../lake/documents/manifest.js';
import { expectsRecords, type RunFile } from '../lake/documents/run-file.js';
import type { Stage, StagedChunk } from '../lake/documents/stage-file.js';
import type { Column } from '../lake/rows/data-columns.js';
import type { SortKey } from '../lake/rows/row.js';
import type { KeyRange } from './key-ranges.js';
import { BATCH, type BatchResult } from './merge-result.js';
import { CHUNK, documentKind, type FieldsOf, RUN, SORT_KEYS } from './staged-documents.js';

/** A phase that a run has ahead of it. */
export type Phase =
  /** A catch-up reads the changes since the start of the previous reading (docs/explanation/guarantees.md#deletes). `target`: that of a rollback. */
  | { readonly do: 'read'; readonly kind: Stage['kind'] | 'target' }
  /**
   * `since`: only records that this reading or a later one has fetched count as present. `emptied`: only counts the rows that an
   * empty list should show.
   */
  | { readonly do: 'settle'; readonly since: number; readonly pass: 'first' | 'second' | 'emptied' }
  | { readonly do: 'settleById'; readonly since: number }
  | { readonly do: Exclude<PhaseName, 'read' | 'settle' | 'settleById'> };

/** What a run that looks for deletes has concluded, apart from the keys. */
export interface Deletes {
  /** Live rows of the base snapshot that the list should show: those whose absence can mean a delete; 0: not known. */
  readonly expected: number;
  /** Absent records whose deletion could be neither confirmed nor ruled out. */
  readonly unproven: number;
  /** Why deletes could not be concluded. */
  readonly problems: readonly DeletesProblem[];
}

/**
 * What a run has decided so far (docs/internals/recovery.md#journal). It is in memory until the run spills, and then it is
 * `run.json` in the run's staging folder. A phase replaces it once, at its end, and only the version that it has read.
 */
export interface Journal {
  /** Number of this version, from 0: that of the next phase that replaces it. */
  readonly sequence: number;
  readonly run: RunFile;
  /** What is left to do, in this order. A phase that ends puts what it finds necessary in its own place. */
  readonly ahead: readonly Phase[];
  /** Whether the swap of the pointer may arrive. */
  readonly isSwapSent: boolean;
  /** Number of the current reading of the list, or of the next one, from 0. */
  readonly reading: number;
  /** The last stage document of the readings so far; `null`: nothing is read. */
  readonly stage: ObjectKey | null;
  /** What is read, for people. */
  readonly pages: number;
  readonly rows: number;
  /** What the run has spent of the budget for words about a limit. */
  readonly words: WordsSpent;
  /** Keys of records that the list no longer shows, and whose deletion is not confirmed yet. */
  readonly absent: readonly SortKey[];
  /** Keys of records whose deletion is confirmed. */
  readonly gone: readonly SortKey[];
  /** `null`: the run has not looked for deletes. */
  readonly deletes: Deletes | null;
  /** Rows that the list should show although it is empty, of a run that does not look for deletes. */
  readonly emptied: number;
  /** How often the list was reread because it had shifted, or differences of an audit had to be confirmed. */
  readonly rereads: number;
  /** Whether a reread has found rows that other readings had missed, so that a shift hides rows. */
  readonly hidesRows: boolean;
  /** Of the last merge; `null`: none has begun. */
  readonly plan: MergePlan | null;
  /** Of the last merge, in the order of its batches; `null`: it has not ended. */
  readonly results: readonly BatchResult[] | null;
}

/** What a phase changes in the journal. */
export type Decided = Partial<Omit<Journal, 'sequence' | 'run'>>;

/** One key range of a merge, and whether its part is copied or merged. */
export type MergeTask =
  | { readonly kind: 'carry'; readonly number: number; readonly part: PublishedPart }
  | {
      readonly kind: 'merge';
      /** Number of its first part. The task may use `parts` consecutive numbers. */
      readonly number: number;
      readonly parts: number;
      /** Target size of each part, in bytes before compression. */
      readonly partBytes: number;
      readonly range: KeyRange;
      readonly before: PublishedPart | null;
      /** Positions in `MergePlan.chunks` of the chunks that overlap the range, oldest first. */
      readonly chunks: readonly number[];
    };

export interface MergePlan {
  /** The new snapshot's data columns. */
  readonly columns: readonly Column[];
  readonly chunks: readonly StagedChunk[];
  /** Number of the chain of pages that the last reading of the list used. */
  readonly lastChain: number;
  /** Chains of pages that show changes, if the run compares them with the whole list; absent: it does not. */
  readonly increments?: readonly number[];
  /** Whether an audit has read only a part of the list. Absent: no. */
  readonly isCut?: true;
  readonly tasks: readonly MergeTask[];
  /** Positions in `tasks`. Each batch is the work of one activity, in this order. */
  readonly batches: readonly (readonly number[])[];
  /** As in `ShiftSigns`, for rows that are known before the merge. */
  readonly repeated: number;
  /** Whether the base snapshot has rows. If not, the change log has the same content as the snapshot. */
  readonly hasBefore: boolean;
}

const RANGE = z.looseObject({ from: z.string().nullable(), to: z.string().nullable() });
const PART = z.looseObject({ key: z.string(), rows: z.int(), bytes: z.int(), rawBytes: z.int() });

const PLAN = z.looseObject({
  ...{ columns: z.array(z.looseObject({ name: z.string() })), chunks: z.array(CHUNK), lastChain: z.int() },
  tasks: z.array(
    z.discriminatedUnion('kind', [
      z.looseObject({ kind: z.literal('carry'), number: z.int(), part: PART }),
      z.looseObject({
        ...{ kind: z.literal('merge'), number: z.int(), parts: z.int(), partBytes: z.number(), range: RANGE },
        ...{ before: PART.nullable(), chunks: z.array(z.int()) },
      }),
    ]),
  ),
  ...{ batches: z.array(z.array(z.int()).min(1)), repeated: z.int(), hasBefore: z.boolean() },
} satisfies FieldsOf<MergePlan>);

export const JOURNAL = documentKind<Journal>('journal', {
  ...{ sequence: z.int().min(0), run: RUN, ahead: z.array(z.looseObject({ do: z.string() })).min(1) },
  ...{
    isSwapSent: z.boolean(),
    reading: z.int(),
    stage: z.string().nullable(),
    pages: z.int(),
    rows: z.int(),
  },
  ...{
    words: z.looseObject({}),
    absent: SORT_KEYS,
    gone: SORT_KEYS,
    emptied: z.int(),
    rereads: z.int(),
    hidesRows: z.boolean(),
  },
  deletes: z
    .looseObject({ expected: z.int(), unproven: z.int(), problems: z.array(z.looseObject({})) })
    .nullable(),
  ...{ plan: PLAN.nullable(), results: z.array(BATCH.schema).nullable() },
});

/** Identifies the staging folder of a run. */
export type StagedRun = Pick<RunRef, 'resource' | 'runId'>;

/** The key of an object in a run's staging folder. */
export function stagedKey({ resource, runId }: StagedRun, name: string): ObjectKey {
  return inFolder(stagingFolder(resource, runId), name);
}

/** The journal of a run that begins. */
export function newJournal(run: RunFile): Journal {
  const { stage = null, pages = 0, rows = 0, done = false } = run.resumed ?? {};
  return {
    ...{ sequence: 0, run, ahead: phasesOf(run), isSwapSent: false },
    ...{ reading: done ? 1 : 0, stage, pages, rows, words: NO_WORDS },
    ...{ absent: [], gone: [], deletes: null, emptied: 0, rereads: 0, hidesRows: false },
    ...{ plan: null, results: null },
  };
}

/** All that a run does if nothing special happens. */
function phasesOf(run: RunFile): Phase[] {
  const { rollback, resumed, reconcile, comparesIncrements, dryRun } = run;
  const phases: (Phase | false)[] = [
    // A resumed run may already have staged the whole list.
    resumed?.done !== true && { do: 'read', kind: rollback === null ? 'list' : 'target' },
    ...(resumed?.done === true ? afterList(run, resumed.rows) : []),
    // Resumed pages lack the changes since the earlier run.
    (reconcile || resumed !== null || comparesIncrements === true) && { do: 'read', kind: 'catch-up' },
    reconcile && { do: 'settle', since: 0, pass: 'first' },
    ...[{ do: 'mergePlan' } as const, { do: 'merge' } as const],
    { do: dryRun === undefined ? 'publish' : 'preview' },
  ];
  return phases.filter((phase) => phase !== false);
}

/** What follows the first reading of the list immediately. @param rows that it has */
export function afterList(run: RunFile, rows: number): Phase[] {
  return rows === 0 && expectsRecords(run) ? [{ do: 'settle', since: 0, pass: 'emptied' }] : [];
}

/** The phase that is next. @throws if it is another one */
export function nextOf<Name extends PhaseName>({ ahead }: Pick<Journal, 'ahead'>, name: Name) {
  const [next] = ahead;
  if (next?.do !== name) throw new Error(`the journal names the phase ${next?.do}, and not ${name}`);
  return next as Extract<Phase, { do: Name }>;
}

/** A phase that ends in this way: the phases instead of it come next, and then what was ahead. */
export function endedBy(
  { ahead }: Pick<Journal, 'ahead'>,
  decided: Decided,
  instead: readonly Phase[] = [],
): Decided {
  return { ...decided, ahead: [...instead, ...ahead.slice(1)] };
}

/** What a run tells its workflow between two phases. */
export function toNextPhase(journal: Journal): NextPhase {
  const { sequence: step, ahead, plan, pages, rows } = journal;
  const [next] = ahead;
  const batches = next!.do === 'merge' ? plan!.batches.length : 1;
  return { ...{ kind: 'next', phase: next!.do, step, batches, pages, rows }, summary: summaryOf(journal) };
}

function summaryOf({ ahead, sequence, pages, rows, rereads, absent }: Journal): string {
  const next = ahead[0]!;
  const pass = rereads === 0 ? '' : `, merge ${rereads + 1}`;
  switch (next.do) {
    case 'read':
      return sequence === 0 ? next.kind : `${next.kind}, from page ${pages}, ${rows} rows`;
    case 'settle':
      return next.pass === 'second' ? `${absent.length} absent records again` : 'absent records';
    case 'settleById':
      return `${absent.length} records by id`;
    case 'mergePlan':
      return `plan, ${rows} rows${pass}`;
    case 'merge':
      return `merge${pass}`;
    default:
      return `${rows} rows`;
  }
}

/** The next version of a journal. */
export function nextJournal(journal: Journal, decided: Decided): Journal {
  return { ...journal, ...decided, sequence: journal.sequence + 1 };
}

/** A name that only one attempt of a phase stages. Names of one kind sort by phase, attempt and number. */
export function ownName(
  { step, attempt, token }: { readonly step: number; readonly attempt: number; readonly token: string },
  what: string,
  number: number,
  end: string,
): string {
  return `${phaseName(what, step)}${sixDigits(attempt)}-${sixDigits(number)}-${token}${end}`;
}

/** How the names of what a phase stages begin. @param step the version of the journal that it begins with */
export function phaseName(what: string, step: number): string {
  return `${what}-${sixDigits(step)}-`;
}

function sixDigits(n: number): string {
  return String(n).padStart(6, '0');
}
