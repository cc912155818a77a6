import type { TemporalClient } from '../../temporal/client/connect.js';
import { isWithheld, outageReason } from '../../temporal/client/grpc.js';
import { output } from '../shared/output.js';

/** What Temporal did not answer while a command that also works without it read runs. */
export interface UnknownRuns {
  /** Whether Temporal may know runs that the command does not show. */
  readonly isIncomplete: boolean;
  /** Takes an error of the SDK. A server that does not know what was asked for has no such runs. */
  readonly add: (error: unknown) => void;
  /** Says why runs may be missing, if any may be. */
  note(): void;
}

/** @param temporal `null` if Temporal is unreachable, which was noted before */
export function unknownRuns(temporal: TemporalClient | null): UnknownRuns {
  let first: unknown = null;
  return {
    get isIncomplete() {
      return first !== null || temporal === null;
    },
    add(error) {
      if (isWithheld(error)) first ??= error;
    },
    note() {
      if (first === null || temporal === null) return;
      const why = outageReason(first);
      const text = typeof why === 'string' ? why : why.text;
      output.note(
        `Temporal at ${temporal.address} did not answer every request: ${text}. Failed and running runs may be missing.`,
      );
    },
  };
}
