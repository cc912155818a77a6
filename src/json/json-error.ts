/** Text that is not JSON. The message says where. */
export class JsonError extends SyntaxError {
  /** Whether the text ends too early: more text could complete the value. */
  readonly isCut: boolean;

  /**
   * @param problem without the place
   * @param at offset in bytes; `null`: the end of the text
   */
  constructor(
    readonly problem: string,
    at: number | null,
  ) {
    super(`${problem} ${at === null ? 'at the end of the body' : `at byte ${at}`}`);
    this.isCut = at === null;
  }
}
