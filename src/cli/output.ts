import { writeSync } from 'node:fs';

/** Where a command writes: results to stdout, everything else to stderr. */
export interface Output {
  /** A line of the result. */
  out(line: string): void;
  /** A line for whoever watches. */
  note(line: string): void;
}

export const output: Output = {
  out: (line) => void process.stdout.write(`${line}\n`),
  note: (line) => void process.stderr.write(`${line}\n`),
};

/** The one object that `--json` prints (DESIGN 5). */
export function printJson(value: unknown): void {
  output.out(JSON.stringify(value, null, 2));
}

/** For the moment before the process ends, when nothing buffered would come through. */
export function lastWords(text: string): void {
  try {
    writeSync(2, `${text}\n`);
  } catch {
    // Nobody reads any more.
  }
}
