/** Where progress is written; `process.stderr` fits. */
export interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** A line about something that takes long. */
export interface Progress {
  /** Changes what is said, for instance `download` to `go install`. */
  update(what: string): void;
  /** Ends the line; on a terminal it is wiped, so that the result can take its place. */
  stop(): void;
}

/** A terminal is redrawn every second; a log gets a line only this often, and at every change. */
const plainIntervalMs = 15_000;

/** Shows `what` with the elapsed seconds until stopped. The timer does not keep the process alive. */
export function startProgress(output: ProgressOutput, title: string): Progress {
  const started = performance.now();
  let what = '';
  let lastPlainAt = Number.NEGATIVE_INFINITY;
  const draw = () => {
    const now = performance.now();
    const line = `${title}: ${what}, ${Math.round((now - started) / 1000)} s`;
    if (output.isTTY) output.write(`\r\x1b[2K${line}`);
    else if (now - lastPlainAt >= plainIntervalMs) {
      lastPlainAt = now;
      output.write(`${line}\n`);
    }
  };
  const timer = setInterval(() => {
    if (what !== '') draw();
  }, 1_000);
  timer.unref();
  return {
    update(next) {
      // A count that goes up within one step (`download 12 MB`) must not fill a log with lines.
      if (next.replace(/\d+/g, '') !== what.replace(/\d+/g, '')) lastPlainAt = Number.NEGATIVE_INFINITY;
      what = next;
      draw();
    },
    stop() {
      clearInterval(timer);
      if (output.isTTY && what !== '') output.write('\r\x1b[2K');
    },
  };
}
