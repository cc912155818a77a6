/** What Ctrl-C does to a command that waits for a run. */
export interface Interrupts {
  /** Aborts when the command is to leave; the run goes on. */
  readonly detach: AbortSignal;
  /** Lets go of the signals. */
  release(): void;
}

export interface InterruptOptions {
  /** Time for a second Ctrl-C after the first, in milliseconds. */
  readonly windowMs: number;
  /** The first Ctrl-C: says how to follow again and that a second one cancels. */
  readonly onFirst: () => void;
  /** The second Ctrl-C. */
  readonly onCancel: () => void;
  readonly source?: Pick<NodeJS.Process, 'on' | 'off'>;
}

/**
 * The first Ctrl-C detaches after a moment in which a second one cancels the run instead; a third leaves at once.
 * SIGTERM and SIGHUP detach at once.
 */
export function listenForInterrupts(options: InterruptOptions): Interrupts {
  const source = options.source ?? process;
  const leave = new AbortController();
  let presses = 0;
  let timer: NodeJS.Timeout | undefined;
  const onInterrupt = (): void => {
    presses++;
    if (presses === 1) {
      options.onFirst();
      timer = setTimeout(() => leave.abort(), options.windowMs);
    } else if (presses === 2) {
      clearTimeout(timer);
      options.onCancel();
    } else {
      leave.abort();
    }
  };
  const onTerminate = (): void => leave.abort();
  source.on('SIGINT', onInterrupt);
  source.on('SIGTERM', onTerminate);
  source.on('SIGHUP', onTerminate);
  return {
    detach: leave.signal,
    release() {
      clearTimeout(timer);
      source.off('SIGINT', onInterrupt);
      source.off('SIGTERM', onTerminate);
      source.off('SIGHUP', onTerminate);
    },
  };
}
