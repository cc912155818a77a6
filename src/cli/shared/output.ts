import { writeSync } from 'node:fs';
import { printable, printableJson } from './printable.js';

/** The output of a command: results go to stdout, everything else to stderr. */
export interface Output {
  /** A line of the result; control characters are escaped. */
  out(line: string): void;
  /** A line of the result with colors; the caller must make all other text `printable`. */
  styled(line: string): void;
  /** Text for another program, such as SQL: unchanged, except on a terminal. */
  source(text: string): void;
  /** A line for the user on stderr; control characters are escaped. */
  note(line: string): void;
}

export const output: Output = {
  out: (line) => void process.stdout.write(`${printable(line)}\n`),
  styled: (line) => void process.stdout.write(`${line}\n`),
  source: (text) => void process.stdout.write(`${process.stdout.isTTY ? printable(text) : text}\n`),
  note: (line) => void process.stderr.write(`${printable(line)}\n`),
};

/** Prints the single object of `--json` (docs/reference/commands.md). */
export function printJson(value: unknown): void {
  process.stdout.write(`${printableJson(JSON.stringify(value, null, 2))}\n`);
}

/** Writes synchronously, for the end of the process, when buffered output would be lost. */
export function writeStderrSync(text: string): void {
  try {
    writeSync(2, `${printable(text)}\n`);
  } catch {
    // The reader has closed stderr.
  }
}
