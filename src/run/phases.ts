import type {
  AbsentRecords,
  ConfirmDeletesInput,
  ConfirmedDeletes,
  DeletesProblem,
  FindAbsentInput,
  KeyList,
  KeysFound,
  ListRead,
  MergedParts,
  MergePartsInput,
  MergePlanned,
  MirrorState,
  PlanMergeInput,
  PreparedRun,
  PublishInput,
  ReadInput,
  ReadResult,
  RunPublished,
  RunRef,
  ShiftSigns,
  StepRef,
} from '../core/contract/index.js';
import { inParallel } from '../core/in-parallel.js';
import { sizeToTry } from '../core/learned-page-size.js';
import { deletesAllowed } from '../core/list-evidence.js';
import { MAX_REREADS } from '../core/mirror-requests.js';

/**
 * The steps of the phases between the preparation of a run and its publication. The activity of a whole run calls them in
 * memory; for a run in the lake, the workflow requests an activity for each of them. The summary says what a step does, for
 * people.
 */
export interface Steps {
  read(input: ReadInput, summary: string): Promise<ReadResult>;
  settle(input: FindAbsentInput, summary: string): Promise<AbsentRecords>;
  settleById(input: ConfirmDeletesInput, summary: string): Promise<ConfirmedDeletes>;
  mergePlan(input: PlanMergeInput, summary: string): Promise<MergePlanned>;
  merge(input: MergePartsInput, summary: string): Promise<MergedParts>;
}

interface RunOptions {
  readonly prepared: PreparedRun;
  /** As in the mirror's state. */
  readonly pageSize: MirrorState['pageSize'];
  /** Whether to conclude any number of deletes. */
  readonly allowDeletes: boolean;
  readonly onRead?: (extracted: ReadResult) => void;
  /** Called when a phase begins. Settling and merging may read the list again. */
  readonly onPhase?: (phase: 'read' | 'settle' | 'merge') => void;
}

/** A run that can be published. */
interface ReadyRun extends Pick<RunPublished, 'pageSize'> {
  readonly publish: PublishInput;
}

/**
 * The phases of a prepared run until it can be published: it reads the list, settles which records are deleted, and merges
 * (docs/explanation/how-it-works.md#one-run). They are the same for a run in memory and for one in the lake.
 *
 * @throws the failure of a step
 */
export async function runPhases(
  steps: Steps,
  ref: RunRef,
  { prepared, pageSize: known, allowDeletes, onRead, onPhase }: RunOptions,
): Promise<ReadyRun> {
  const { rollback, resumed, reconcile, comparesIncrements, audit, pageSize: configured } = prepared;
  const staged = rollback ?? resumed?.extracted ?? null;
  const pageSize = sizeToTry(known, configured);
  const reading = new Reading(ref, steps, staged, pageSize, (extracted) => onRead?.(extracted));
  onPhase?.('read');
  // The target of a rollback is staged already, and complete.
  if (rollback === null) await reading.read('list');
  if (reconcile) onPhase?.('settle');
  let deletes = reconcile ? await detectDeletes(reading, prepared, allowDeletes) : null;
  const emptied = prepared.expectsRecords && reading.last.rows === 0 ? await countAbsent(reading) : 0;
  // Resumed pages lack the changes since the earlier run. Delete detection has already read them.
  if ((resumed !== null || comparesIncrements === true) && !reconcile) await reading.read('catch-up');
  onPhase?.('merge');
  /** An audit reads everything again; a sample is read by id. */
  const readAgain = async (): Promise<void> => {
    const since = audit === 'sample' ? 0 : await reading.read('list');
    if (audit === undefined || !reconcile) await reading.read('catch-up');
    else deletes = await detectDeletes(reading, prepared, allowDeletes, since);
  };
  const goneNow = () => ({ gone: deletes?.gone ?? null, expected: deletes?.expected ?? 0, allowDeletes });
  const { shifted } = await mergeSettled(reading, goneNow, readAgain);
  const { expected } = goneNow();
  const unproven = deletes?.unproven ?? 0;
  // Resumed pages were read with an earlier page size, so they do not show whether the service accepts the new one.
  const wasTried = resumed === null && rollback === null;
  return {
    publish: {
      ...{ ...reading.now, shifted, unproven },
      ...(deletes === null ? {} : { deletesProblems: deletes.problems }),
      ...(emptied > 0 ? { emptied } : {}),
      ...(expected > 0 ? { expected } : {}),
      allowDeletes,
    },
    pageSize: wasTried ? { configured, used: reading.last.pageSize } : null,
  };
}

/** The phase that reads the list, and the version of the journal that the run has come to. */
class Reading {
  #last: ReadResult | null;
  #step = 0;
  #reads = 0;
  /** Whether the last read of the list showed signs of a shift. Some signs show only in the merge. */
  shifted: boolean;

  constructor(
    readonly ref: RunRef,
    readonly steps: Steps,
    /** What is already staged, for example by an earlier failed run; `null`: nothing. */
    staged: ReadResult | null,
    /** The learned page size in rows; `null`: the configured one. */
    private readonly pageSize: number | null,
    private readonly onProgress: (extracted: ReadResult) => void,
  ) {
    this.#last = staged;
    this.shifted = staged?.shifted === true;
  }

  /** The phase that follows, if it does not end with a new version of the journal. */
  get now(): StepRef {
    return { ...this.ref, step: this.#step };
  }

  /** The phase that follows. It ends with a new version of the journal. */
  next(): StepRef {
    return { ...this.ref, step: this.#step++ };
  }

  /** Reads the list from start to end. Returns the number of the read. */
  async read(kind: ListRead['kind']): Promise<number> {
    const read: ListRead = { number: this.#reads++, kind };
    // A resumed run may already have staged the whole list.
    let done = read.number === 0 && this.#last?.done === true;
    while (!done) {
      const from =
        this.#step === 0 ? '' : `, from page ${this.#last?.pages ?? 0}, ${this.#last?.rows ?? 0} rows`;
      this.#last = await this.steps.read(
        {
          ...this.next(),
          pageSize: this.#last?.pageSize ?? this.pageSize,
          read,
          ...(this.#last?.words === undefined ? {} : { words: this.#last.words }),
        },
        `${kind}${from}`,
      );
      this.onProgress(this.#last);
      done = this.#last.done;
      if (kind === 'list') this.shifted = this.#last.shifted;
    }
    return read.number;
  }

  /** What the readings so far prove deletes by. */
  get deletesAllowed(): ReturnType<typeof deletesAllowed> {
    return deletesAllowed(this.last.doubts ?? []);
  }

  /** Notes what was read in addition to the list. */
  add(read: ReadResult): void {
    this.#last = { ...this.#last, ...read };
  }

  /** What the last reading has returned. */
  get last(): ReadResult {
    if (this.#last === null) throw new Error('the list was not read');
    return this.#last;
  }
}

/** The summary of a step that looks for them. */
const ABSENT = 'absent records';

/** Counts the rows that the list should show and does not. */
async function countAbsent(reading: Reading, sinceRead = 0): Promise<number> {
  const all = { sinceRead, among: null, allowDeletes: true, onlyCounts: true } as const;
  const { count, problem } = await reading.steps.settle({ ...reading.next(), ...all }, ABSENT);
  return problem === undefined ? count : 0;
}

/** Deletes among the records that the list no longer shows. */
interface DetectedDeletes {
  /** The list of deleted records in the journal; `null`: none. */
  readonly gone: KeyList | null;
  /** Live rows of the snapshot that the list should show. */
  readonly expected: number;
  /** Absent records whose deletion could be neither confirmed nor ruled out. */
  readonly unproven: number;
  /** Why deletes could not be concluded. */
  readonly problems: readonly DeletesProblem[];
}

/**
 * The phase that settles which records of the snapshot the service has deleted (docs/explanation/guarantees.md#deletes). A
 * list that shifts under its cursor can hide a record, so a single absence proves nothing. Each pass is followed by a catch-up read. A
 * record that is absent after that is read by id, or must be absent from a second pass too. The second pass runs only if
 * the first one found absent records.
 *
 * @param allowDeletes whether to conclude deletes from an empty list, too, or from one with records without a key
 * @param sinceRead the first reading that counts
 */
async function detectDeletes(
  reading: Reading,
  { proof, hasWindow, audit }: Pick<PreparedRun, 'proof' | 'hasWindow' | 'audit'>,
  allowDeletes: boolean,
  sinceRead = 0,
): Promise<DetectedDeletes> {
  const { steps } = reading;
  const problems: DeletesProblem[] = [];
  const nothing = { gone: null, expected: 0, unproven: 0, problems };
  await reading.read('catch-up');
  const allowed = reading.deletesAllowed;
  if (allowed === 'none') return nothing;
  const first = { sinceRead, among: null, allowDeletes: allowDeletes || allowed === 'by-id' };
  if (reading.last.isBlank) {
    // An empty body concludes no deletes: a proxy may have dropped the body of the list.
    const count = await countAbsent(reading, sinceRead);
    if (count > 0) problems.push({ kind: 'empty-list', rows: count });
    return nothing;
  }
  const absent = await steps.settle({ ...reading.next(), ...first }, ABSENT);
  const { expected } = absent;
  if (absent.problem) problems.push(absent.problem);
  if (absent.count === 0) return nothing;
  const isEmpty = absent.listIsEmpty === true && !allowDeletes;
  if (proof === 'by-id') {
    const asked = await steps.settleById(
      { ...reading.next(), among: absent.keys, allowDeletes },
      `${absent.count} records by id`,
    );
    const { keys, count, unproven, works, untaken } = asked;
    // A sample has no list that could be read once more.
    const again = audit === 'sample' ? undefined : asked.again;
    if (asked.read !== undefined) reading.add(asked.read);
    if (untaken !== undefined) problems.push({ kind: 'by-id-untaken', ...untaken });
    const proven = { gone: count === 0 ? null : keys, expected, unproven, problems };
    if ((works && again === undefined) || (!works && audit !== undefined)) return proven;
    if (works) return secondPass(again!, { ...proven, unproven: unproven + again!.count });
    if (!isEmpty) problems.push({ kind: 'endpoint' });
    // Absence from a second pass cannot tell a deleted record from one that was moved out of the window.
    if (hasWindow && !isEmpty) return nothing;
  }
  if (isEmpty) problems.push({ kind: 'empty-list', rows: absent.count });
  if (isEmpty) return nothing;
  return secondPass(absent, nothing);

  /** @param otherwise what is known if the second pass proves nothing; its deletes are proven in any case */
  async function secondPass(among: KeysFound, otherwise: DetectedDeletes): Promise<DetectedDeletes> {
    if (hasKeyless() || allowed !== 'all') return otherwise;
    const sinceRead = await reading.read('list');
    await reading.read('catch-up');
    if (reading.last.isBlank || reading.deletesAllowed !== 'all' || hasKeyless()) return otherwise;
    const { gone: proven } = otherwise;
    const second = { ...reading.next(), sinceRead, among: among.keys, allowDeletes };
    const gone = await steps.settle(
      proven === null ? second : { ...second, proven },
      `${among.count} absent records again`,
    );
    if (gone.listIsEmpty === true && !allowDeletes) {
      problems.push({ kind: 'empty-list', rows: gone.count });
      return otherwise;
    }
    const unproven = Math.max(0, otherwise.unproven - among.count);
    return { gone: gone.count === 0 ? null : gone.keys, expected, unproven, problems };
  }

  /** Whether a record that seems to be absent may be one of those that were listed without a key. */
  function hasKeyless(): boolean {
    const { quarantined: records } = reading.last;
    if (records === 0 || allowDeletes) return false;
    problems.push({ kind: 'keyless', records });
    return true;
  }
}

/** Concurrent merge activities of one run, over all workers. Each keeps two cores busy and uses about 50 MiB. */
const MERGES_AT_ONCE = 2;

/** A finished merge that can be published. */
interface Merged extends ShiftSigns {
  /** Differences of an audit that have to be read once more. */
  readonly open: number;
}

/**
 * The phase that merges the staged rows, and rereads the list if it shifted (docs/explanation/guarantees.md#full-reads). A
 * repeated key in one chain of pages shows that records moved between pages. A cursor that counts records then skips some. A
 * list in the order of changes also repeats keys, but its cursor skips none. The reread tells the two apart: if it finds no
 * row that was missing, apart from rows that changed meanwhile, the cursor skips none and no further reread is needed.
 */
async function mergeSettled(
  reading: Reading,
  input: () => Pick<PlanMergeInput, 'gone' | 'expected' | 'allowDeletes'>,
  readAgain: () => Promise<void>,
): Promise<{ readonly merged: Merged; readonly shifted: boolean }> {
  const merge = (pass: number): Promise<Merged> => mergeOnce(reading, { ...input(), pass });
  // If the list visibly shifted, a merge now would be wasted.
  let merged = reading.shifted ? null : await merge(0);
  if (merged !== null && merged.repeated === 0 && merged.open === 0) return { merged, shifted: false };
  let hidesRows = false;
  for (let pass = 1; ; pass++) {
    await readAgain();
    merged = await merge(pass);
    const isStable = merged.repeated === 0 && !reading.shifted;
    hidesRows ||= merged.found > 0;
    const shifted = !isStable && hidesRows;
    if ((!shifted && merged.open === 0) || pass === MAX_REREADS) return { merged, shifted };
  }
}

/** Merges the staged rows of a run with the previous snapshot. @param pass number of the merge within the run, from 0 */
async function mergeOnce(
  reading: Reading,
  { pass, ...input }: Pick<PlanMergeInput, 'gone' | 'expected' | 'allowDeletes' | 'pass'>,
): Promise<Merged> {
  const { steps, last } = reading;
  const again = pass === 0 ? '' : `, merge ${pass + 1}`;
  const plan = `plan, ${last.rows} rows${again}`;
  const { batches, repeated } = await steps.mergePlan({ ...reading.next(), ...input, pass }, plan);
  const { now } = reading;
  const numbers = Array.from({ length: batches }, (_, batch) => batch);
  const merged = await inParallel(numbers, MERGES_AT_ONCE, (batch) =>
    steps.merge({ ...now, pass, batch }, `${batch + 1} of ${batches}${again}`),
  );
  return {
    repeated: merged.reduce((sum, part) => sum + part.repeated, repeated),
    found: merged.reduce((sum, part) => sum + part.found, 0),
    open: merged.reduce((sum, part) => sum + (part.open ?? 0), 0),
  };
}
