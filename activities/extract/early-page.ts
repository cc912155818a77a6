import type { Cursor, UtcSeconds } from '../../src/core/brands.js';

/** What a page is asked for by, and where that stands in the reading. */
export interface ChainPosition {
  readonly cursor: Cursor | null;
  readonly updatedSince: UtcSeconds | null;
  readonly chain: number;
  readonly restarts: number;
  readonly pageSize: number;
}

/**
 * A page that was asked for before it was known to be the next one. Its answer waits until it is taken, and is dropped when
 * it turns out that another page is wanted.
 */
export class EarlyPage<T> {
  readonly #at: ChainPosition;
  readonly #answer: Promise<T>;
  #isUnderWay = true;
  #take!: () => void;
  #drop!: (reason: Error) => void;

  /**
   * @param ask makes the request; the answer must not be used before `turn` has resolved. `onWait` is to be called
   *   when it is not made, or made again, before some later time.
   */
  constructor(at: ChainPosition, ask: (turn: Promise<void>, onWait: () => void) => Promise<T>) {
    this.#at = at;
    const turn = new Promise<void>((resolve, reject) => {
      this.#take = resolve;
      this.#drop = reject;
    });
    const end = (): void => {
      this.#isUnderWay = false;
    };
    this.#answer = ask(turn, end);
    // Who takes it hears of a failure; one that is dropped may fail as it likes.
    turn.catch(() => {});
    this.#answer.catch(end);
  }

  /** Whether its answer may come any moment: not when the service is yet to be asked. */
  get isUnderWay(): boolean {
    return this.#isUnderWay;
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
    this.#drop(new Error('another page is wanted'));
  }
}
