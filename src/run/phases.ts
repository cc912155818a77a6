import type { NextPhase, PhaseEnded, PhaseRef, RunEnded, RunRef } from '../core/contract/index.js';
import { inParallel } from '../core/in-parallel.js';

/** Concurrent merge activities of one run, over all workers. Each keeps two cores busy and uses about 50 MiB. */
const MERGES_AT_ONCE = 2;

/** Carries out a phase. @param summary what it does, for people */
export type Perform = (phase: NextPhase['phase'], ref: PhaseRef, summary: string) => Promise<PhaseEnded>;

/**
 * A run: its phases in turn, until it is published (docs/explanation/how-it-works.md#one-run). Each phase puts what it
 * decides into the journal, which also says what is next. The loop is the same for a run in memory, within one activity, and
 * for one in the lake, whose workflow requests an activity for each phase.
 *
 * @param onNext called before each phase
 * @throws the failure of a phase
 */
export async function runPhases(
  ref: RunRef,
  first: NextPhase,
  perform: Perform,
  onNext: (next: NextPhase) => void = () => {},
): Promise<RunEnded> {
  for (let next = first; ; ) {
    onNext(next);
    const { phase, step, batches, summary } = next;
    const numbers = Array.from({ length: batches }, (_, batch) => batch);
    const [ended] = await inParallel(numbers, MERGES_AT_ONCE, (batch) =>
      perform(
        phase,
        { ...ref, step, batch },
        batches === 1 ? summary : `${summary}, ${batch + 1} of ${batches}`,
      ),
    );
    if (ended!.kind !== 'next') return ended!;
    next = ended!;
  }
}
