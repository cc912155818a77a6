import { log, type SignalDefinition, setHandler } from '@temporalio/workflow';

/**
 * Handles a signal if its argument passes the check. Otherwise drops the signal and logs the problem without the content.
 * A handler that throws would block the workflow permanently, because each workflow task replays the signal.
 *
 * @param problemOf a check from `src/core/signal-checks.ts`; returns `null` for a well-formed argument
 */
export function handleChecked<Argument>(
  signal: SignalDefinition<[Argument]>,
  problemOf: (argument: unknown) => string | null,
  handle: (argument: Argument) => void,
): void {
  setHandler(signal, (argument: Argument) => {
    const problem = problemOf(argument);
    if (problem === null) handle(argument);
    else log.warn('dropped a malformed signal', { signal: signal.name, problem });
  });
}

/** The well-formed elements of a list in the carried-over state. Drops and logs the others. */
export function wellFormed<Element>(
  carried: readonly Element[],
  problemOf: (element: unknown) => string | null,
): readonly Element[] {
  return carried.filter((element) => {
    const problem = problemOf(element);
    if (problem !== null) log.warn('dropped a malformed message from the carried-over state', { problem });
    return problem === null;
  });
}
