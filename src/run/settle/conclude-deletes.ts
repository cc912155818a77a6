import type { DeletesProblem } from '../../core/contract/index.js';
import { deletesAllowed } from '../../core/list-evidence.js';
import type { Stage } from '../../lake/documents/stage-file.js';
import type { SortKey } from '../../lake/rows/row.js';
import { isAskedById } from '../delete-rules.js';
import { type Decided, type Deletes, endedBy, type Journal, nextOf } from '../run-journal.js';

/*
 * How a run settles which records of the snapshot the service has deleted (docs/explanation/guarantees.md#deletes). A list that
 * shifts under its cursor can hide a record, so a single absence proves nothing. Each pass is followed by a catch-up read. A record
 * that is absent after that is read by id, or must be absent from a second pass too. The second pass runs only if the first one
 * found absent records.
 */

/** Rows of the base snapshot that the readings have not returned. */
export interface Absent {
  /** None, if the rows are only counted. */
  readonly keys: readonly SortKey[];
  readonly count: number;
  /** Why absence says nothing about this resource; none is absent then. `null`: it does. */
  readonly problem: DeletesProblem | null;
  /** As in `Deletes`. */
  readonly expected: number;
  /** Whether the readings of the list returned no record at all. */
  readonly listIsEmpty: boolean;
}

/** What the endpoint by id has answered about the absent records. */
export interface Asked {
  /** Keys of records that are deleted. */
  readonly gone: readonly SortKey[];
  /** Those that count as deleted only if a second pass does not list them, either. */
  readonly again: readonly SortKey[];
  /** Records whose deletion the service neither confirmed nor ruled out. */
  readonly unproven: number;
  /** Whether the endpoint has found a record that exists. Otherwise its 404 proves nothing, and no record is gone. */
  readonly works: boolean;
  /** Records that exist, and whose values by id were not taken: whether a listed record was compared, and differs. */
  readonly untaken: { readonly records: number; readonly isCompared: boolean };
  /** As in `Absent`. */
  readonly listIsEmpty: boolean;
}

/** What is known about deletes if nothing more is found out. */
interface Concluded {
  readonly gone: readonly SortKey[];
  readonly deletes: Deletes;
}

const nothing = (problems: readonly DeletesProblem[] = []): Concluded => {
  return { gone: [], deletes: { expected: 0, unproven: 0, problems } };
};

/** The phase ends, and nothing more is to be found out about deletes. */
function conclude(journal: Journal, concluded: Concluded): Decided {
  return endedBy(journal, { ...concluded, absent: [] });
}

/** What a pass decides without a look at the rows, because its readings prove nothing; `null`: they may. @param last the last stage */
export function withoutLook(journal: Journal, last: Stage): Decided | null {
  const allowed = deletesAllowed(last.doubts);
  const { pass } = nextOf(journal, 'settle');
  if (pass === 'emptied') return null;
  if (pass === 'first') return allowed === 'none' ? conclude(journal, nothing()) : null;
  const { gone, deletes } = journal;
  const keyless = last.isBlank || allowed !== 'all' ? [] : keylessProblems(journal, last);
  const proves = !last.isBlank && allowed === 'all' && keyless.length === 0;
  return proves ? null : conclude(journal, { gone, deletes: withProblems(deletes!, keyless) });
}

/** After the first pass. */
export function afterFirstPass(journal: Journal, last: Stage, found: Absent): Decided {
  const { run } = journal;
  const { keys, count, expected, problem } = found;
  const problems = problem === null ? [] : [problem];
  const empty: DeletesProblem = { kind: 'empty-list', rows: count };
  // An empty body concludes no deletes: a proxy may have dropped the body of the list.
  if (last.isBlank) return conclude(journal, nothing(count > 0 ? [empty] : []));
  if (keys.length === 0) return conclude(journal, nothing(problems));
  if (isAskedById(run.resource)) {
    const deletes = { expected, unproven: 0, problems };
    const { since } = nextOf(journal, 'settle');
    return endedBy(journal, { absent: keys, gone: [], deletes }, [{ do: 'settleById', since }]);
  }
  if (found.listIsEmpty && !run.allowDeletes) return conclude(journal, nothing([empty]));
  return secondPass(journal, last, keys, nothing(problems));
}

/** After the absent records were asked for by id. */
export function afterAsking(journal: Journal, last: Stage, asked: Asked): Decided {
  const { run, absent, deletes } = journal;
  const { gone, again, unproven, works, untaken } = asked;
  const { problems } = withProblems(
    deletes!,
    untaken.records > 0 ? [{ kind: 'by-id-untaken', ...untaken }] : [],
  );
  const proven = (open: number): Concluded => ({ gone, deletes: { ...deletes!, unproven: open, problems } });
  if (works && again.length > 0 && run.audit?.sample === undefined)
    return secondPass(journal, last, again, proven(unproven + again.length));
  // A sample has no list that could be read once more.
  if (works || run.audit !== undefined) return conclude(journal, proven(unproven));
  if (asked.listIsEmpty && !run.allowDeletes)
    return conclude(journal, nothing([...problems, { kind: 'empty-list', rows: absent.length }]));
  const broken = nothing([...problems, { kind: 'endpoint' }]);
  // Absence from a second pass cannot tell a deleted record from one that was moved out of the window.
  return run.resource.windowMs === null
    ? secondPass(journal, last, absent, broken)
    : conclude(journal, broken);
}

/**
 * Reads the list once more, and looks for the absent records in it.
 *
 * @param otherwise what is known if the second pass proves nothing; its deletes are proven in any case
 */
function secondPass(
  journal: Journal,
  last: Stage,
  absent: readonly SortKey[],
  otherwise: Concluded,
): Decided {
  const keyless = keylessProblems(journal, last);
  const { gone } = otherwise;
  const deletes = withProblems(otherwise.deletes, keyless);
  if (keyless.length > 0 || deletesAllowed(last.doubts) !== 'all')
    return conclude(journal, { gone, deletes });
  return endedBy(journal, { absent, gone, deletes }, [
    { do: 'read', kind: 'list' },
    { do: 'read', kind: 'catch-up' },
    { do: 'settle', since: journal.reading, pass: 'second' },
  ]);
}

/** After the second pass. */
export function afterSecondPass(journal: Journal, { keys, problem, expected, listIsEmpty }: Absent): Decided {
  const { run, absent, gone: proven } = journal;
  const deletes = journal.deletes!;
  const gone = problem === null ? [...keys, ...proven].sort() : proven;
  if (listIsEmpty && !run.allowDeletes) {
    const empty: DeletesProblem = { kind: 'empty-list', rows: gone.length };
    return conclude(journal, { gone: proven, deletes: withProblems(deletes, [empty]) });
  }
  const unproven = Math.max(0, deletes.unproven - absent.length);
  return conclude(journal, { gone, deletes: { ...deletes, expected, unproven } });
}

/** Whether a record that seems to be absent may be one of those that were listed without a key. */
function keylessProblems({ run }: Journal, { quarantined: records }: Stage): DeletesProblem[] {
  return records === 0 || run.allowDeletes ? [] : [{ kind: 'keyless', records }];
}

function withProblems(deletes: Deletes, more: readonly DeletesProblem[]): Deletes {
  return { ...deletes, problems: [...deletes.problems, ...more] };
}
