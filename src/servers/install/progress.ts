/** The output stream for progress, such as `process.stderr`. */
export interface ProgressOutput {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** A progress line of a long operation. */
export interface Progress {
  /** Changes the step, for example from `download` to `go install`. */
  update(step: string): void;
  /** Ends the line; on a terminal, clears it for the result. */
  stop(): void;
}

/** Interval of lines without a terminal; a new step is always written. A terminal is redrawn every second. */
const plainIntervalMs = 15_000;

/** Shows the current step with the elapsed seconds until stopped. The timer does not keep the process alive. */
export function startProgress(output: ProgressOutput, title: string): Progress {
  const started = performance.now();
  let step = '';
  let lastPlainAt = Number.NEGATIVE_INFINITY;
  const draw = () => {
    const now = performance.now();
    const line = `${title}: ${step}, ${Math.round((now - started) / 1000)} s`;
    if (output.isTTY) output.write(`\r\x1b[2K${line}`);
    else if (now - lastPlainAt >= plainIntervalMs) {
      lastPlainAt = now;
      output.write(`${line}\n`);
    }
  };
  const timer = setInterval(() => {
    if (step !== '') draw();
  }, 1_000);
  timer.unref();
  return {
    update(next) {
      // A changing number within one step (`download 12 MB`) does not count as a new step.
      if (next.replace(/\d+/g, '') !== step.replace(/\d+/g, '')) lastPlainAt = Number.NEGATIVE_INFINITY;
      step = next;
      draw();
    },
    stop() {
      clearInterval(timer);
      if (output.isTTY && step !== '') output.write('\r\x1b[2K');
    },
  };
}
