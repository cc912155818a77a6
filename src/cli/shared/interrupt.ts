import type { Millis } from '../../core/brands.js';
import { EXIT } from './choose-exit-code.js';
import { output, writeStderrSync } from './output.js';

interface InterruptOptions {
  /** Time for a second Ctrl-C after the first. */
  readonly windowMs: Millis;
  /** Called on the first Ctrl-C: prints how to follow again, and that a second one cancels. */
  readonly onFirst: () => void;
  /** Called on the second Ctrl-C. */
  readonly onCancel: () => void;
  readonly source?: Pick<NodeJS.Process, 'on' | 'off'>;
}

/**
 * The first Ctrl-C detaches after `windowMs`. A second one within this time cancels the run instead; a third one detaches
 * immediately. SIGTERM and SIGHUP detach immediately.
 *
 * @returns `detach` aborts when the command must end; the run continues
 */
export function listenForInterrupts({ windowMs, onFirst, onCancel, source = process }: InterruptOptions): {
  readonly detach: AbortSignal;
  release(): void;
} {
  const detach = new AbortController();
  let presses = 0;
  let timer: NodeJS.Timeout | undefined;
  const onTerminate = (): void => detach.abort();
  const onInterrupt = (): void => {
    presses++;
    if (presses === 1) {
      onFirst();
      timer = setTimeout(onTerminate, windowMs);
    } else if (presses === 2) {
      clearTimeout(timer);
      onCancel();
    } else onTerminate();
  };
  const handlers = { SIGINT: onInterrupt, SIGTERM: onTerminate, SIGHUP: onTerminate };
  for (const [signal, handler] of Object.entries(handlers)) source.on(signal, handler);
  return {
    detach: detach.signal,
    release() {
      clearTimeout(timer);
      for (const [signal, handler] of Object.entries(handlers)) source.off(signal, handler);
    },
  };
}

/**
 * For a command that serves until SIGTERM or Ctrl-C. A second signal ends the process immediately.
 *
 * @param stopping what the command does after the first signal
 * @param ended what the second signal means for the work in progress
 * @returns `signal` aborts on the first signal
 */
export function stopOnSignal(
  stopping: string,
  ended: string,
): { readonly signal: AbortSignal; release(): void } {
  const signals = ['SIGTERM', 'SIGINT'] as const;
  const stop = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => {
    if (stop.signal.aborted) {
      writeStderrSync(`${name} again: stopping immediately. ${ended}`, 'warn');
      process.exit(EXIT.failed);
    }
    output.note(`${name}: ${stopping} A second signal stops immediately.`);
    stop.abort();
  };
  for (const name of signals) process.on(name, onSignal);
  return {
    signal: stop.signal,
    release() {
      for (const name of signals) process.off(name, onSignal);
    },
  };
}
