import { z } from 'zod';
import type { ObjectKey, RunId } from '../core/brands.js';
import type { KeyList, RunRef } from '../core/contract/index.js';
import { inFolder, stagingFolder } from '../lake/documents/lake-layout.js';
import type { PublishedPart } from '../lake/documents/manifest.js';
import type { RunFile } from '../lake/documents/run-file.js';
import type { StagedChunk } from '../lake/documents/stage-file.js';
import type { Column } from '../lake/rows/data-columns.js';
import type { SortKey } from '../lake/rows/row.js';
import type { KeyRange } from './key-ranges.js';
import { BATCH, type BatchResult } from './merge-result.js';
import { CHUNK, documentKind, type FieldsOf, RUN, SORT_KEYS } from './staged-documents.js';

/**
 * What a run has decided so far (docs/internals/recovery.md#journal). It is in memory until the run spills, and then it is
 * `run.json` in the run's staging folder. A phase replaces it once, at its end, and only the version that it has read.
 */
export interface Journal {
  /** Number of this version, from 0: that of the next phase that replaces it. */
  readonly sequence: number;
  /** The phase that the run has come to. From `publish` on, its swap of the pointer may arrive. */
  readonly phase: 'read' | 'settle' | 'merge' | 'publish';
  readonly run: RunFile;
  /** The last stage document of the readings that have ended; `null`: nothing is read. */
  readonly stage: ObjectKey | null;
  /** Keys of records that may be deleted, or are. */
  readonly keys: { readonly [List in KeyList]?: readonly SortKey[] };
  /** Of the last merge; `null`: none has begun. */
  readonly plan: MergePlan | null;
  /** Of the last merge, in the order of its batches; `null`: it has not ended. */
  readonly results: readonly BatchResult[] | null;
  /** What each phase that has ended told the workflow, by the version that it replaced. A phase that is called again returns it. */
  readonly answers: readonly unknown[];
}

/** What a phase adds to the journal. */
export type Decided = Pick<Journal, 'phase'> & Partial<Pick<Journal, 'stage' | 'keys' | 'plan' | 'results'>>;

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
  /** The records whose deletion is confirmed; `null` for none. */
  readonly gone: KeyList | null;
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
  ...{ batches: z.array(z.array(z.int()).min(1)), gone: z.string().nullable(), hasBefore: z.boolean() },
} satisfies FieldsOf<MergePlan>);

export const JOURNAL = documentKind<Journal>('journal', {
  ...{ sequence: z.int().min(0), phase: z.enum(['read', 'settle', 'merge', 'publish']), run: RUN },
  ...{ stage: z.string().nullable(), keys: z.record(z.string(), SORT_KEYS), plan: PLAN.nullable() },
  ...{ results: z.array(BATCH.schema).nullable(), answers: z.array(z.unknown()) },
});

/** Identifies the staging folder of a run. */
export type StagedRun = Pick<RunRef, 'resource' | 'runId'>;

/** The key of an object in a run's staging folder. */
export function stagedKey({ resource, runId }: StagedRun, name: string): ObjectKey {
  return inFolder(stagingFolder(resource, runId), name);
}

/** The stage of a rollback's target. Each attempt writes the same text. */
export const TARGET = 'target.json';

/** The journal of a run that begins. @param runId that of its staging folder */
export function newJournal(run: RunFile, runId: RunId): Journal {
  const target = stagedKey({ resource: run.resource.name, runId }, TARGET);
  const stage = run.rollback === null ? (run.resumed?.stage ?? null) : target;
  return { ...{ sequence: 0, phase: 'read', run, stage }, keys: {}, plan: null, results: null, answers: [] };
}

/** The next version of a journal. @param answer what the phase tells the workflow */
export function nextJournal(journal: Journal, answer: unknown, decided: Decided): Journal {
  const { sequence, answers } = journal;
  return { ...journal, ...decided, sequence: sequence + 1, answers: [...answers, answer] };
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
