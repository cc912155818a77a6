/** Wakes everything that waits for a change. */
export class Signal {
  #waiting = new Set<() => void>();

  notify(): void {
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const wake of waiting) wake();
  }

  /** The next change from now on. Call `orAfter` to wait for it, or for this long, ms. */
  next(): { orAfter(ms: number): Promise<void> } {
    let isOver = false;
    let wake = (): void => {
      isOver = true;
    };
    this.#waiting.add(() => wake());
    return {
      orAfter: (ms) =>
        new Promise((resolve) => {
          if (isOver) return resolve();
          const timer = setTimeout(resolve, Math.max(ms, 1));
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        }),
    };
  }
}
