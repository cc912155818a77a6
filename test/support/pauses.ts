/** How often the process looks at its clock, and how long a gap is at least that is a pause; ms. */
const EVERY_MS = 1_000;
const PAUSE_MS = 10_000;
/** Pauses that are kept. */
const KEPT = 5;

// Tests replace its clock.
const now = performance.now.bind(performance);

const pauses: string[] = [];
let isWatched = false;

/** Watches for pauses of this process. Idempotent. */
export function watchPauses(): void {
  if (isWatched) return;
  isWatched = true;
  let last = look();
  setInterval(() => {
    const before = last;
    last = look();
    notePause(last.at - before.at - EVERY_MS, last.cpuMs - before.cpuMs);
  }, EVERY_MS).unref();
}

/** The last pauses, a line each. After a long one with little CPU time, the machine stood still: the test has not failed by itself. */
export function lastPauses(): string {
  return pauses.join('\n');
}

export function notePause(pauseMs: number, cpuMs: number): void {
  if (pauseMs < PAUSE_MS) return;
  const seconds = (ms: number): string => (ms / 1000).toFixed(1);
  pauses.push(
    `-- until ${new Date().toISOString()}, this process stood still for ${seconds(pauseMs)} s, with ${seconds(cpuMs)} s of CPU time`,
  );
  pauses.splice(0, pauses.length - KEPT);
}

function look(): { readonly at: number; readonly cpuMs: number } {
  const { user, system } = process.cpuUsage();
  return { at: now(), cpuMs: (user + system) / 1000 };
}
