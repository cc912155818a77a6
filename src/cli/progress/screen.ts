import pc from 'picocolors';
import { MINUTE_MS } from '../../core/duration.js';
import { type Silence, silenceSentences } from '../../temporal/status/silence.js';
import { cut, printable, terminalWidth, wrap } from '../shared/output.js';
import { runnableHere } from '../shared/runnable.js';

/** The output stream for progress, such as `process.stderr`. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** One thing that makes progress: a resource, a batch, or all runs of a command. */
export interface ProgressItem {
  readonly id: string;
  /** Selects the mark on a terminal; a stage without one is in progress. */
  readonly stage: string;
  readonly line: string;
  /** Lines below it on a terminal, at most `width` wide. */
  readonly below?: (width: number) => string[];
  /** The line without a terminal; `null`: there is nothing to say yet. Default: as on a terminal. */
  readonly plain?: string | null;
  /** Without a terminal, a line is written immediately if this changes. */
  readonly change?: string;
  readonly isFinal?: boolean;
}

/** What is shown: the items, and that no worker polls. */
export interface Progress {
  readonly items: readonly ProgressItem[];
  /** `null`: a worker answers, or it is not known. */
  readonly missingWorker: string | null;
}

export interface ProgressView<View> {
  show(view: View, now?: number): void;
  /** Keeps the last state on the screen; later output goes below it. */
  end(): void;
}

/** Redraws a block of lines on a terminal; writes plain lines otherwise. */
export function showProgress<View>(
  screen: Screen,
  describe: (view: View, now: number) => Progress,
): ProgressView<View> {
  const draw = screen.isTTY === true ? liveLines(screen) : plainLines(screen);
  return {
    show: (view, now = Date.now()) => draw.show(describe(view, now), now),
    end: () => draw.end(),
  };
}

/** Why no worker answers, and what to do; `null` if one does. */
export function workerLine(silence: Silence | null): string | null {
  return silence && `${silenceSentences(silence)} Waiting.`;
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const MARKS: Readonly<Record<string, string>> = {
  published: pc.green('✓'),
  failed: pc.red('✗'),
  refused: pc.red('✗'),
  cancelled: '-',
  waiting: '·',
  done: pc.green('✓'),
};

function liveLines(screen: Screen) {
  let drawn = 0;
  let frame = 0;
  return {
    show({ items, missingWorker }: Progress) {
      const spin = FRAMES[frame++ % FRAMES.length] ?? '';
      const width = (screen.columns || 80) - 1;
      const lines = items.flatMap(({ stage, line, below }) => [
        `${MARKS[stage] ?? pc.cyan(spin)} ${cut(printable(line), width - 2)}`,
        ...(below?.(width) ?? []).map(printable),
      ]);
      // A long command stays whole and takes several rows of the terminal.
      const missing = missingWorker === null ? [] : wrap(printable(runnableHere(missingWorker)), width);
      const all = [...missing.map((line) => pc.yellow(line)), ...lines];
      const wrapped = missing.reduce((rows, line) => rows + Math.ceil(line.length / (width + 1)), 0);
      const up = drawn === 0 ? '' : `\x1b[${drawn}A`;
      screen.write(`${up}\r\x1b[J${all.map((line) => `${line}\n`).join('')}`);
      drawn = wrapped + lines.length;
    },
    end() {
      drawn = 0;
    },
  };
}

/** A plain line is written if it changes in an important way, every 5 s if it changed, and every 60 s otherwise. */
const PLAIN_EVERY_MS = 5_000;
const PLAIN_UNCHANGED_MS = MINUTE_MS;

function plainLines(screen: Screen) {
  const written = new Map<string, { change: string; line: string; at: number }>();
  let worker: string | null = null;
  return {
    show({ items, missingWorker }: Progress, now: number) {
      if (missingWorker !== null && missingWorker !== worker)
        for (const line of wrap(printable(runnableHere(missingWorker)), terminalWidth(screen)))
          screen.write(`${line}\n`);
      if (missingWorker === null && worker !== null) screen.write('A worker answers now.\n');
      worker = missingWorker;
      for (const { id, line, plain = line, change = '', isFinal = false } of items) {
        if (plain === null) continue;
        const last = written.get(id);
        const wait = last?.line === plain ? PLAIN_UNCHANGED_MS : PLAIN_EVERY_MS;
        const isDue = last !== undefined && !isFinal && now - last.at >= wait;
        if (last?.change === change && !isDue) continue;
        written.set(id, { change, line: plain, at: now });
        screen.write(`${printable(plain)}\n`);
      }
    },
    end() {},
  };
}
