import pc from 'picocolors';
import type { ExportView } from '../../temporal/export-view.js';
import { clip } from '../text.js';
import { resourceLine, workerLine } from './lines.js';
import { RateMeter } from './rate.js';

/** Where progress is drawn; `process.stderr` fits. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

/** Shows where an export stands. */
export interface ProgressView {
  show(view: ExportView, now?: number): void;
  /** Leaves the last state on the screen; what is written next goes below it. */
  end(): void;
}

/** A block of lines that is redrawn on a terminal; plain lines where there is none. */
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
      const lines = view.resources.map((one) => {
        const line = resourceLine(one, meter.rate(one.resource, one.rows, now), now);
        return `${MARKS[one.stage] ?? pc.cyan(spin)} ${cut(line, width - 2)}`;
      });
      const all = worker === null ? lines : [pc.yellow(cut(worker, width)), ...lines];
      const up = drawn === 0 ? '' : `\x1b[${drawn}A`;
      screen.write(`${up}\r\x1b[J${all.map((line) => `${line}\n`).join('')}`);
      drawn = all.length;
    },
    end() {
      drawn = 0;
    },
  };
}

/** Cuts a line, which would wrap and spoil the redrawing; keeps the spaces that align the columns. */
function cut(line: string, width: number): string {
  return line.length > width ? `${line.slice(0, width - 1)}…` : line;
}

/** A log gets a line when the stage changes; one every so often while something moves; and one a minute in any case. */
const PLAIN_EVERY_MS = 5_000;
const PLAIN_ANYWAY_MS = 60_000;

function plainProgress(screen: Screen): ProgressView {
  const meter = new RateMeter();
  const said = new Map<string, { what: string; line: string; at: number }>();
  let worker: string | null = null;
  return {
    show(view, now = Date.now()) {
      const missing = workerLine(view);
      if (missing !== null && missing !== worker) screen.write(`${missing}\n`);
      if (missing === null && worker !== null) screen.write('A worker answers now.\n');
      worker = missing;
      for (const one of view.resources) {
        if (one.stage === 'waiting') continue;
        const rate = meter.rate(one.resource, one.rows, now);
        const line = resourceLine(one, rate, now);
        const what = `${one.stage} ${clip(one.trouble?.message ?? '', 200)}`;
        const last = said.get(one.resource);
        const wait = last?.line === line ? PLAIN_ANYWAY_MS : PLAIN_EVERY_MS;
        const isDue = last !== undefined && one.report === null && now - last.at >= wait;
        if (last?.what === what && !isDue) continue;
        said.set(one.resource, { what, line, at: now });
        screen.write(`${line}\n`);
      }
    },
    end() {},
  };
}
