import type { Stage } from '../../lake/documents/stage-file.js';

/** The parameters of a page request, and the position of the page in the reading. */
export type ChainPosition = Pick<
  Stage,
  | 'cursor'
  | 'updatedSince'
  | 'chain'
  | 'restarts'
  | 'shrinks'
  | 'pageSize'
  | 'refusedSince'
  | 'latest'
  | 'round'
>;

/**
 * A page that is requested before it is certain to be the next one. Its response is not used before `take`. `discard`
 * drops it when a different page turns out to be the next one.
 */
export class PrefetchedPage<T> {
  readonly #at: ChainPosition;
  readonly #answer: Promise<T>;
  /** Whether the request is in flight. False while it waits to be sent or retried. */
  isUnderWay = true;
  #take!: () => void;
  #drop!: (reason: Error) => void;

  /**
   * @param ask sends the request. It must not use the response before `turn` resolves, and it must call `onWait` when
   *   the request, or its retry, has to wait.
   */
  constructor(at: ChainPosition, ask: (turn: Promise<void>, onWait: () => void) => Promise<T>) {
    this.#at = at;
    const turn = new Promise<void>((resolve, reject) => {
      this.#take = resolve;
      this.#drop = reject;
    });
    const end = (): void => {
      this.isUnderWay = false;
    };
    this.#answer = ask(turn, end);
    // `take` returns the failure. A discarded page may fail unnoticed, so its rejection must not count as unhandled.
    turn.catch(() => {});
    this.#answer.catch(end);
  }

  isFor({ cursor, updatedSince, pageSize, chain }: ChainPosition): boolean {
    const at = this.#at;
    return (
      at.cursor === cursor &&
      at.updatedSince === updatedSince &&
      at.pageSize === pageSize &&
      at.chain === chain
    );
  }

  take(): Promise<T> {
    this.#take();
    return this.#answer;
  }

  discard(): void {
    this.#drop(new Error('a different page is next'));
  }
}
