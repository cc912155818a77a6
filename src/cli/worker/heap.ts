import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { DONE_MS, HeapGrowth, LITTLE_PERCENT } from './heap-growth.js';

/**
 * The space for new objects does not grow again once V8 has reduced it: on Node 24, a worker takes about a hundred megabytes
 * less, for the same CPU time. On Node 20, it still grows to 32 MiB under load.
 */
const SEMI_SPACE_GROWTH_FACTOR = 1;

/** V8's flags that a worker sets. V8 ignores unknown ones. */
export const HEAP_FLAGS = {
  growth: '--heap-growing-percent',
  newSpace: '--semi-space-growth-factor',
} as const;

/** An entry of the type `gc`. */
type Collection = PerformanceEntry & { readonly detail: { readonly kind: number } };

export interface Heap {
  /**
   * Calls `collected` soon after each full collection, with its time (milliseconds, monotonic) and the bytes then in use.
   *
   * @returns a function that ends this
   */
  follow(collected: (at: number, bytes: number) => void): () => void;
  /** How much it may grow between two full collections, in percent of the bytes in use. */
  setGrowth(percent: number): void;
}

/** The heap of this thread. V8 applies the growth to all threads, at the next collection of each. */
export const thisHeap: Heap = {
  follow(collected) {
    const observer = new PerformanceObserver((list) => {
      for (const { detail, startTime } of list.getEntries() as Collection[]) {
        if (detail.kind !== constants.NODE_PERFORMANCE_GC_MAJOR) continue;
        collected(startTime, getHeapStatistics().used_heap_size);
      }
    });
    observer.observe({ entryTypes: ['gc'] });
    return () => observer.disconnect();
  },

  setGrowth(percent) {
    setFlagsFromString(`${HEAP_FLAGS.growth}=${percent}`);
  },
};

/**
 * Makes V8 prefer little memory. V8's default lets the heap double between collections, which costs a worker about a hundred
 * megabytes. Call it before the worker is created.
 */
export function keepHeapSmall(): void {
  setFlagsFromString(`${HEAP_FLAGS.newSpace}=${SEMI_SPACE_GROWTH_FACTOR}`);
  thisHeap.setGrowth(LITTLE_PERCENT);
}

/**
 * Lets the heap grow more while many rows pass through it (`HeapGrowth`). Call it once the worker has started.
 *
 * @returns a function that ends this
 */
export function growHeapWithWork(heap: Heap = thisHeap): () => void {
  const growth = new HeapGrowth();
  let percent = LITTLE_PERCENT;
  const set = (to: number): void => {
    if (to !== percent) heap.setGrowth(to);
    percent = to;
  };
  const done = (): void => {
    growth.done();
    set(LITTLE_PERCENT);
  };
  let idle: NodeJS.Timeout | undefined;
  const unfollow = heap.follow((at, bytes) => {
    set(growth.collected(at, bytes));
    clearTimeout(idle);
    idle = setTimeout(done, DONE_MS).unref();
  });
  return () => {
    unfollow();
    clearTimeout(idle);
    done();
  };
}

/**
 * Frees what only the start has used, and reduces the space for new objects (see `SEMI_SPACE_GROWTH_FACTOR`). It happens
 * soon after the call, unless Node was built without the inspector.
 */
export async function collectGarbage(): Promise<void> {
  try {
    const { Session } = await import('node:inspector');
    const session = new Session();
    session.connect();
    // The collection is a separate task: a session that disconnects earlier cancels it.
    session.post('HeapProfiler.collectGarbage', () => setImmediate(() => session.disconnect()));
  } catch {
    // The worker then takes more memory.
  }
}
