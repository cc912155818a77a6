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

/** From most to least important: who left learns nothing more; then what only a person can resolve; then what may recover. */
const WORST_FIRST: readonly ExitCode[] = [
  EXIT.detached,
  EXIT.refused,
  EXIT.usage,
  EXIT.outOfReach,
  EXIT.failed,
];

/** The exit code of a command on several connections (docs/reference/exit-codes.md): the worst of theirs. */
export function worstExitCode(codes: readonly ExitCode[]): ExitCode {
  return WORST_FIRST.find((code) => codes.includes(code)) ?? EXIT.done;
}
