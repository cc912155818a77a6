/** Exit codes of the command (docs/reference/exit-codes.md). */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  refused: 3,
  outOfReach: 4,
  /** 128 + SIGINT, as in shells: the command ended, but the run continues. */
  detached: 130,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];
