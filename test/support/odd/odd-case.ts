import type { RunRequest } from '../../../src/core/contract/index.js';
import type { ExitCode } from '../../../src/core/exit-code.js';
import type { Simulator, SimulatorOptions } from '../../../src/simulator/index.js';

/** What one export, or one of the runs after it, must lead to. */
export interface Expected {
  /** Exit code of `worktrack export`. Default 0. */
  readonly exit?: ExitCode;
  /**
   * Rows of the snapshot of `tasks`: their number, or `same` as the service's records, value for value; `none`: nothing is
   * published. Default `same`.
   */
  readonly rows?: number | 'same' | 'none';
  /** What the message of the run of `tasks` says. */
  readonly says?: RegExp;
  /** What one warning of the run of `tasks` says. */
  readonly warns?: RegExp;
}

/** An odd service, and what an export, two increments and a reconcile must make of it. */
export interface OddCase {
  /** Names of `ODD_SERVICES`. */
  readonly odd: readonly string[];
  /** What is special about this case, if the service has several. */
  readonly title?: string;
  /** Whether the service names waits of a second or more, which Temporal keeps between two attempts of an activity. */
  readonly waits?: true;
  /** Default: 30 tasks, without awkward values. */
  readonly simulator?: SimulatorOptions;
  /** Default: `[tasks]`. */
  readonly resources?: string;
  /** More keys of the connection, with an indentation of four spaces. Default: pages of 10 records. */
  readonly yaml?: string;
  /** Whether the API key is in a file, which has it at first. */
  readonly hasKeyFile?: boolean;
  /**
   * Changes of the service before the second and the third run. Default: one task changes, and one is new. Before the fourth run,
   * the last task is deleted.
   */
  readonly change?: (simulator: Simulator, run: 2 | 3, keyFile: string) => void;
  /** Of the first export, of the two increments, and of the reconcile. Default: all rows, exit code 0, or as the run before, if it fails. */
  readonly runs?: readonly [Expected, Expected, Expected, Expected?];
  /** What the first three exports ask for. Default: nothing special. */
  readonly request?: (run: 1 | 2 | 3) => Partial<Pick<RunRequest, 'reconcile' | 'allowDeletes'>> & {
    readonly full?: boolean;
  };
}
