import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { DONE_MS, HeapGrowth, LITTLE_PERCENT } from './heap-growth.js';

/**
 * The space for new objects does not grow again once V8 has reduced it: on Node 24, a worker takes about a hundred megabytes
 * less, for the same CPU time. On Node 20, it still grows to 32 MiB under load.
 */
const SEMI_SPACE_GROWTH_FACTOR = 1;

/** An entry of the type `gc`. */
type Collection = PerformanceEntry & { readonly detail: { readonly kind: number } };

/**
 * Makes V8 prefer little memory, except while many rows pass through the heap (`HeapGrowth`). V8's default lets the heap
 * double between collections, which costs a worker about a hundred megabytes. Call it before the worker is created.
 *
 * @returns a function that stops following the collections
 */
export function keepHeapSmall(setFlag: (flag: string) => void = setFlagsFromString): () => void {
  setFlag(`--semi-space-growth-factor=${SEMI_SPACE_GROWTH_FACTOR}`);
  let percent = 0;
  const grow = (by: number): void => {
    if (by !== percent) setFlag(`--heap-growing-percent=${by}`);
    percent = by;
  };
  grow(LITTLE_PERCENT);
  const growth = new HeapGrowth();
  const end = (): void => {
    growth.done();
    grow(LITTLE_PERCENT);
  };
  let ending: NodeJS.Timeout | undefined;
  // V8 reads the setting at its next collection.
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as Collection[]) {
      if (entry.detail.kind !== constants.NODE_PERFORMANCE_GC_MAJOR) continue;
      grow(growth.collected(entry.startTime, getHeapStatistics().used_heap_size));
      clearTimeout(ending);
      ending = setTimeout(end, DONE_MS).unref();
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  return () => {
    observer.disconnect();
    clearTimeout(ending);
  };
}

/**
 * Frees what only the start has used, and reduces the space for new objects (see `SEMI_SPACE_GROWTH_FACTOR`). It happens soon after the call, unless Node was built without the inspector.
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
