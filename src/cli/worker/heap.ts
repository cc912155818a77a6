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
 * Makes V8 prefer little memory. V8's default lets the heap double between collections, which costs a worker about a hundred
 * megabytes. Call it before the worker is created.
 */
export function keepHeapSmall(): void {
  setFlagsFromString(`--semi-space-growth-factor=${SEMI_SPACE_GROWTH_FACTOR}`);
  setFlagsFromString(growing(LITTLE_PERCENT));
}

/**
 * Lets the heap grow more while many rows pass through it (`HeapGrowth`). Call it once the worker has started. V8 applies
 * the setting to all threads, at the next collection of each.
 *
 * @returns a function that ends this
 */
export function growHeapWithWork(setFlag: (flag: string) => void = setFlagsFromString): () => void {
  const growth = new HeapGrowth();
  let percent = LITTLE_PERCENT;
  const set = (to: number): void => {
    if (to !== percent) setFlag(growing(to));
    percent = to;
  };
  const done = (): void => {
    growth.done();
    set(LITTLE_PERCENT);
  };
  let idle: NodeJS.Timeout | undefined;
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries() as Collection[]) {
      if (entry.detail.kind !== constants.NODE_PERFORMANCE_GC_MAJOR) continue;
      set(growth.collected(entry.startTime, getHeapStatistics().used_heap_size));
      clearTimeout(idle);
      idle = setTimeout(done, DONE_MS).unref();
    }
  });
  observer.observe({ entryTypes: ['gc'] });
  return () => {
    observer.disconnect();
    clearTimeout(idle);
    done();
  };
}

function growing(percent: number): string {
  return `--heap-growing-percent=${percent}`;
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
