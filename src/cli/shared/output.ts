import { writeSync } from 'node:fs';
import pc from 'picocolors';
import { runnableHere } from './runnable.js';
import { wrap } from './text.js';

/** The output of a command: results go to stdout, everything else to stderr. */
interface Output {
  /** A line of the result; control characters are escaped, and commands are as the user can type them. */
  out(line: string): void;
  /** A line of the result with colors; the caller must make all other text `printable`. */
  styled(line: string): void;
  /** Text for another program, such as SQL: unchanged, except on a terminal. */
  source(text: string): void;
  /** A line for the user on stderr; control characters are escaped. `fields` appear only in JSON (`logNotesAsJson`). */
  note(line: string, level?: NoteLevel, fields?: NoteFields): void;
}

type NoteLevel = 'info' | 'warn' | 'error';
type NoteFields = Readonly<Record<string, unknown>>;
type NoteFormat = (line: string, level: NoteLevel, fields: NoteFields) => string;

/** The format of a log, instead of lines for a person at a terminal. */
let logFormat: NoteFormat | null = null;

/** From now on, everything that this process writes to stderr is one JSON object per line, like the log. */
export function logNotesAsJson(): void {
  logNotes(jsonNote);
  // Node writes warnings as text.
  process.removeAllListeners('warning');
  process.on('warning', ({ message }) => output.note(message, 'warn'));
}

/** From now on, everything that this process writes to stderr has the format of a log. */
export function logNotes(format: NoteFormat): void {
  logFormat = format;
}

function jsonNote(line: string, level: NoteLevel, fields: NoteFields): string {
  const base = { time: new Date().toISOString(), level, message: line };
  return printableJson(JSON.stringify({ ...base, ...fields, ...base }));
}

function noteText(text: string, level: NoteLevel = 'info', fields: NoteFields = {}): string {
  const line = runnableHere(text);
  return logFormat === null ? printable(line) : logFormat(line, level, fields);
}

export const output: Output = {
  out: (line) => void process.stdout.write(fitted(line, process.stdout)),
  styled: (line) => void process.stdout.write(`${runnableHere(line)}\n`),
  source: (text) => void process.stdout.write(`${process.stdout.isTTY ? printable(text) : text}\n`),
  note: (line, level, fields) =>
    void process.stderr.write(
      logFormat === null ? fitted(line, process.stderr) : `${noteText(line, level, fields)}\n`,
    ),
};

/** The lines of a text, escaped and wrapped to the width of the terminal. */
function fitted(text: string, stream: NodeJS.WriteStream): string {
  const width = terminalWidth(stream);
  const lines = printable(runnableHere(text)).split('\n');
  return `${lines.flatMap((line) => wrap(line, width)).join('\n')}\n`;
}

/** Prints the single object of `--json` (docs/reference/json-output.md). */
export function printJson(value: unknown): void {
  process.stdout.write(`${printableJson(JSON.stringify(value, null, 2))}\n`);
}

/** Writes synchronously, for the end of the process, when buffered output would be lost. */
export function writeStderrSync(text: string, level?: NoteLevel): void {
  try {
    writeSync(2, `${noteText(text, level)}\n`);
  } catch {
    // The reader has closed stderr.
  }
}

/** C0 without line feed and tab, DEL, and C1 with the one-byte CSI (U+009B): terminals interpret them. */
const CONTROLS = /(?![\n\t])\p{Cc}/gu;

/**
 * Escapes each control character in a text for a terminal, such as `\x1b`. Names, messages, warnings and ids come from
 * the service, the lake and other workers. They must not move the cursor, change the title or hide a line.
 */
export function printable(text: string): string {
  return text.replace(CONTROLS, (control) => `\\x${hex(control, 2)}`);
}

/** Escapes control characters in JSON for a terminal, because `JSON.stringify` escapes only C0. The values stay equal. */
export function printableJson(json: string): string {
  return json.replace(CONTROLS, (control) => `\\u${hex(control, 4)}`);
}

function hex(character: string, digits: number): string {
  return character.charCodeAt(0).toString(16).padStart(digits, '0');
}

/**
 * Colors for a stream: on a terminal or with `FORCE_COLOR`, never with `NO_COLOR` (https://no-color.org). By default the
 * library would color all output in CI, including files.
 */
export function colorsFor(
  { isTTY }: { readonly isTTY?: boolean },
  env: NodeJS.ProcessEnv = process.env,
): ReturnType<typeof pc.createColors> {
  const forced = env.FORCE_COLOR !== undefined && !['', '0', 'false'].includes(env.FORCE_COLOR);
  const terminal = isTTY === true && env.TERM !== 'dumb';
  return pc.createColors(!env.NO_COLOR && (forced || terminal));
}

/** Width of a line on stdout or stderr: of the terminal, or `$COLUMNS`, or without a limit, for other programs. */
export function terminalWidth(
  stream: { readonly isTTY?: boolean; readonly columns?: number } = process.stdout,
  env: NodeJS.ProcessEnv = process.env,
): number {
  if (stream.isTTY === true) return stream.columns || 80;
  return sizeOf(env.COLUMNS) ?? Number.POSITIVE_INFINITY;
}

/** Number of lines of the screen: of the terminal, or `$LINES`, or 24. */
export function terminalHeight(
  stream: { readonly isTTY?: boolean; readonly rows?: number } = process.stdout,
  env: NodeJS.ProcessEnv = process.env,
): number {
  return (stream.isTTY === true && stream.rows) || (sizeOf(env.LINES) ?? 24);
}

function sizeOf(text: string | undefined): number | null {
  return text !== undefined && /^[1-9]\d{1,3}$/.test(text) ? Number(text) : null;
}

/** Size of one write; a separate write for each short line would be slow. */
const BATCH_BYTES = 64 * 1024;

/**
 * Writes chunks to stdout with back-pressure, buffering 64 KiB or one chunk. If the reader closes the pipe (`| head`), it
 * stops reading chunks and returns without an error.
 */
export async function writeAll(chunks: AsyncIterable<string | Buffer>): Promise<void> {
  let batch: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    const buffer = Buffer.from(chunk);
    batch.push(buffer);
    bytes += buffer.length;
    if (bytes < BATCH_BYTES) continue;
    if ((await write(Buffer.concat(batch))) === 'closed') return;
    batch = [];
    bytes = 0;
  }
  await write(Buffer.concat(batch));
}

function write(chunk: Buffer): Promise<'written' | 'closed'> {
  return new Promise((resolve, reject) => {
    process.stdout.write(chunk, (error) => {
      if (!error) return resolve('written');
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return resolve('closed');
      reject(error);
    });
  });
}
