import { partsOf } from '../../core/reachability.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { isDenied, isWithheld, outageReason } from '../../temporal/client/grpc.js';
import { EXIT, type ExitCode } from '../shared/choose-exit-code.js';
import { output } from '../shared/output.js';

/** What Temporal did not answer while a command that also works without it read runs. */
export interface UnknownRuns {
  /** Of a check that needs all runs: 2 if a right is missing, 4 if Temporal did not answer. */
  readonly code: ExitCode;
  /** Takes an error of the SDK. A server that does not know what was asked for has no such runs. */
  readonly add: (error: unknown) => void;
  /** Says why runs may be missing, if any may be. */
  note(): void;
}

/** @param temporal `null` if Temporal is unreachable, which was noted before */
export function unknownRuns(temporal: TemporalClient | null): UnknownRuns {
  let first: unknown = null;
  return {
    get code() {
      if (isDenied(first)) return EXIT.usage;
      return first !== null || temporal === null ? EXIT.outOfReach : EXIT.done;
    },
    add(error) {
      // A missing right stays after an outage has ended.
      if (isWithheld(error) && (first === null || (isDenied(error) && !isDenied(first)))) first = error;
    },
    note() {
      if (first === null || temporal === null) return;
      const what = isDenied(first) ? 'rejected a request' : 'did not answer every request';
      const { text } = partsOf(outageReason(first));
      output.note(
        `Temporal at ${temporal.address} ${what}: ${text}. Failed and running runs may be missing.`,
      );
    },
  };
}
