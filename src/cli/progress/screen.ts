import pc from 'picocolors';
import { MINUTE_MS } from '../../core/duration.js';
import type { ExportView } from '../../temporal/follow/export-view.js';
import { printable } from '../shared/output.js';
import { runnableHere } from '../shared/runnable.js';
import { clip, cut, wrap } from '../shared/text.js';
import { causeLines, resourceLine, workerLine } from './lines.js';
import { RateMeter } from './rate.js';

/** The output stream for progress, such as `process.stderr`. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Shows the progress of an export. */
interface ProgressView {
  show(view: ExportView, now?: number): void;
  /** Keeps the last state on the screen; later output goes below it. */
  end(): void;
}

/** Redraws a block of lines on a terminal; writes plain lines otherwise. */
export function progressOn(screen: Screen): ProgressView {
  return screen.isTTY === true ? liveProgress(screen) : plainProgress(screen);
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const MARKS: Readonly<Record<string, string>> = {
  published: pc.green('✓'),
  failed: pc.red('✗'),
  refused: pc.red('✗'),
  cancelled: '-',
  waiting: '·',
};

function liveProgress(screen: Screen): ProgressView {
  const meter = new RateMeter();
  let drawn = 0;
  let frame = 0;
  return {
    show(view, now = Date.now()) {
      const spin = FRAMES[frame++ % FRAMES.length] ?? '';
      const width = (screen.columns || 80) - 1;
      const worker = workerLine(view);
      const lines = view.resources.flatMap((one) => {
        const line = resourceLine(one, meter.rate(one.resource, one.rows, now), now, 'below');
        return [
          `${MARKS[one.stage] ?? pc.cyan(spin)} ${cut(printable(line), width - 2)}`,
          ...causeLines(one, width).map(printable),
        ];
      });
      // A long command stays whole and takes several rows of the terminal.
      const missing = worker === null ? [] : wrap(printable(runnableHere(worker)), width);
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

/** A plain line is written if the stage changes, every 5 s if the line changed, and every 60 s otherwise. */
const PLAIN_EVERY_MS = 5_000;
const PLAIN_UNCHANGED_MS = MINUTE_MS;

function plainProgress(screen: Screen): ProgressView {
  const meter = new RateMeter();
  const written = new Map<string, { what: string; line: string; at: number }>();
  let worker: string | null = null;
  return {
    show(view, now = Date.now()) {
      const missing = workerLine(view);
      if (missing !== null && missing !== worker) screen.write(`${printable(runnableHere(missing))}\n`);
      if (missing === null && worker !== null) screen.write('A worker is polling now.\n');
      worker = missing;
      for (const one of view.resources) {
        if (one.stage === 'waiting') continue;
        const rate = meter.rate(one.resource, one.rows, now);
        const line = resourceLine(one, rate, now);
        const what = `${one.stage} ${clip(one.failure?.message ?? '', 200)}`;
        const last = written.get(one.resource);
        const wait = last?.line === line ? PLAIN_UNCHANGED_MS : PLAIN_EVERY_MS;
        const isDue = last !== undefined && one.report === null && now - last.at >= wait;
        if (last?.what === what && !isDue) continue;
        written.set(one.resource, { what, line, at: now });
        screen.write(`${printable(line)}\n`);
      }
    },
    end() {},
  };
}
