import { writeSync } from 'node:fs';
import pc from 'picocolors';
import { redactKnown } from '../../core/known-secrets.js';
import { age, count, cut } from '../../core/short-text.js';
import { runnableHere } from './runnable.js';

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
  return printableJson(redactKnown(JSON.stringify({ ...base, ...fields, ...base })));
}

function noteText(text: string, level: NoteLevel = 'info', fields: NoteFields = {}): string {
  const line = runnableHere(redactKnown(text));
  return logFormat === null ? printable(line) : logFormat(line, level, fields);
}

/** The output of a command: results go to stdout, everything else to stderr. */
export const output = {
  /** A line of the result; control characters and line breaks are escaped, and commands are as the user can type them. */
  out: (line: string): void => void process.stdout.write(fitted(escapedBreaks(line), process.stdout)),
  /** A line of the result with colors; the caller must make all other text `printable`. */
  styled: (line: string): void =>
    void process.stdout.write(`${escapedBreaks(runnableHere(redactKnown(line)))}\n`),
  /** A line that another program reads or sends, such as JSON or a request: as `out`, but never wrapped. */
  code: (line: string): void => output.styled(printable(line)),
  /** Text for another program, such as SQL: unchanged, except on a terminal. */
  source: (text: string): void =>
    void process.stdout.write(`${process.stdout.isTTY ? printable(text) : text}\n`),
  /**
   * A line for the user on stderr; control characters and line breaks are escaped. `fields` appear only in JSON
   * (`logNotesAsJson`).
   */
  note: (line: string, level?: NoteLevel, fields?: NoteFields): void =>
    output.paragraph(logFormat === null ? escapedBreaks(line) : line, level, fields),
  /** The same for a text of several lines. The caller must escape the line breaks of all other text in it. */
  paragraph: (text: string, level?: NoteLevel, fields?: NoteFields): void =>
    void process.stderr.write(
      logFormat === null ? fitted(text, process.stderr) : `${noteText(text, level, fields)}\n`,
    ),
};

/** The lines of a text, escaped and wrapped to the width of the terminal. */
function fitted(text: string, stream: NodeJS.WriteStream): string {
  const width = terminalWidth(stream);
  const lines = printable(runnableHere(redactKnown(text))).split('\n');
  return `${lines.flatMap((line) => wrap(line, width)).join('\n')}\n`;
}

/** Prints the single object of `--json` (docs/reference/json-output.md). */
export function printJson(value: unknown): void {
  process.stdout.write(`${printableJson(redactKnown(JSON.stringify(value, null, 2)))}\n`);
}

/** Prints a value as one line of JSON, for lists of any length. */
export function printJsonLine(value: unknown): void {
  process.stdout.write(`${printableJson(redactKnown(JSON.stringify(value)))}\n`);
}

/** Writes synchronously, for the end of the process, when buffered output would be lost. */
export function writeStderrSync(text: string, level?: NoteLevel): void {
  try {
    writeSync(2, `${noteText(text, level)}\n`);
  } catch {
    // The reader has closed stderr.
  }
}

/** One JSON object that ends with rows, written row by row: memory does not grow with the number of rows. */
export async function* jsonWithRows<T>(
  head: object,
  rows: AsyncIterable<T>,
  toJson: (row: T) => string,
): AsyncGenerator<string> {
  yield `${JSON.stringify(head).slice(0, -1)},"rows":[`;
  let separator = '\n';
  for await (const row of rows) {
    yield separator + toJson(row);
    separator = ',\n';
  }
  yield '\n]}\n';
}

/**
 * C0 without line feed and tab, DEL, and C1 with the one-byte CSI (U+009B): terminals interpret them. Then the separators of lines,
 * and the controls of the direction of text (Unicode TR9), which can show a text in another order.
 */
const CONTROLS = /(?![\n\t])[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Escapes each control character in a text for a terminal, such as `\x1b`. Names, messages, warnings and ids come from
 * the service, the lake and other workers. They must not move the cursor, change the title or hide a line.
 */
export function printable(text: string): string {
  return text.replace(CONTROLS, (control) =>
    control > '\xff' ? `\\u${hex(control, 4)}` : `\\x${hex(control, 2)}`,
  );
}

/** Escapes line breaks, so that a text within a line cannot write another line. */
export function escapedBreaks(text: string): string {
  return text.replaceAll('\n', '\\n');
}

/** Columns for a terminal. A line break in a name would begin another line. */
export function withoutNameBreaks<Named extends { readonly name: string }>(
  columns: readonly Named[],
): Named[] {
  return columns.map((column) => ({ ...column, name: escapedBreaks(column.name) }));
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
 * stops reading chunks and returns without an error. On a terminal, control characters are escaped.
 */
export async function writeAll(
  chunks: Iterable<string | Buffer> | AsyncIterable<string | Buffer>,
): Promise<void> {
  let batch: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    const buffer = Buffer.from(process.stdout.isTTY ? printable(chunk.toString()) : chunk);
    batch.push(buffer);
    bytes += buffer.length;
    if (bytes < BATCH_BYTES) continue;
    if ((await writeToStdout(Buffer.concat(batch))) === 'closed') return;
    batch = [];
    bytes = 0;
  }
  await writeToStdout(Buffer.concat(batch));
}

function writeToStdout(chunk: Buffer): Promise<'written' | 'closed'> {
  return new Promise((resolve, reject) => {
    process.stdout.write(chunk, (error) => {
      if (!error) return resolve('written');
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EPIPE' || code === 'ERR_STREAM_DESTROYED') return resolve('closed');
      reject(error);
    });
  });
}

export { age, count, cut };

/** Adds its resources to a message, unless the message begins with it. */
export function named(resources: readonly string[], message: string): string {
  const own = resources.length === 1 && message.startsWith(`${resources[0]}:`);
  return own ? message : `${resources.join(', ')}: ${message}`;
}

/** `1 row`, `2 rows`. */
export function counted(value: number, one: string): string {
  return `${count(value)} ${one}${value === 1 ? '' : 's'}`;
}

/** Formats a table. Each column is as wide as its widest cell; the columns in `right` are right-aligned. */
export function table(rows: readonly (readonly string[])[], right: readonly number[] = []): string[] {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, i) =>
    Math.max(...rows.map((row) => row[i]?.length ?? 0)),
  );
  return rows.map((row) =>
    row
      .map((cell, i) => (right.includes(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

interface FittedOptions {
  /** Columns that are right-aligned. */
  readonly right: readonly number[];
  /** Columns that are left out, in this order, until the table fits. */
  readonly optional: readonly number[];
  readonly width: number;
}

/** Tables of the same columns, which leave out columns until all of them fit a width, if that is possible. */
export function fittedTables(
  tables: readonly (readonly (readonly string[])[])[],
  { right, optional, width }: FittedOptions,
): string[][] {
  for (let left = 0; ; left++) {
    const without = new Set(optional.slice(0, left));
    const columns = Math.max(0, ...tables.flatMap((rows) => rows.map((row) => row.length)));
    const kept = Array.from({ length: columns }, (_, at) => at).filter((at) => !without.has(at));
    const aligned = right.flatMap((at) => (without.has(at) ? [] : [kept.indexOf(at)]));
    const fitted = tables.map((rows) =>
      table(
        rows.map((row) => kept.map((at) => row[at] ?? '')),
        aligned,
      ),
    );
    if (left === optional.length || fitted.flat().every((line) => line.length <= width)) return fitted;
  }
}

/** One line of at most `width` characters. */
export function clip(text: string, width: number): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`;
}

/** Narrower lines are not wrapped: only a word each would fit. */
const NARROWEST = 20;

/**
 * Breaks a line at spaces into lines of at most `width` characters. Continuation lines are indented by two more spaces. A
 * longer word, such as a URL, a command between backticks, and JSON or YAML in brackets stay whole, so that they can be copied.
 */
export function wrap(text: string, width: number): string[] {
  if (text.length <= width || width < NARROWEST) return [text];
  const quoted = text.replace(QUOTED, (command) => command.replaceAll(' ', KEPT_SPACE));
  return broken(withoutBreaksInBrackets(quoted), width).map((one) => one.replaceAll(KEPT_SPACE, ' '));
}

/** A command, or another short text, between backticks. */
const QUOTED = /`[^`]{1,300}`/g;

/** Replaces the spaces between brackets, such as in `{ env: NAME }` and `["a", "b"]`. */
function withoutBreaksInBrackets(line: string): string {
  const open: number[] = [];
  const ends = new Map<number, number>();
  for (const { 0: bracket, index } of line.matchAll(/[[\]{}]/g)) {
    if (bracket === '[' || bracket === '{') open.push(index);
    else if (open.length > 0) ends.set(open.pop()!, index);
  }
  let end = -1;
  return line.replace(/[[{ ]/g, (found, at: number) => {
    if (found !== ' ') end = Math.max(end, ends.get(at) ?? -1);
    return found === ' ' && at < end ? KEPT_SPACE : found;
  });
}

/** Stands for a space that does not break a line. Messages have no control characters: they are escaped before. */
const KEPT_SPACE = '\0';

function broken(line: string, width: number): string[] {
  const margin = /^ */.exec(line)![0].length;
  const indent = ' '.repeat(Math.min(margin + 2, Math.floor(width / 2)));
  const lines: string[] = [];
  for (let at = 0, lead = ''; ; lead = indent) {
    const room = width - lead.length;
    const space = line.length - at <= room ? -1 : breakAt(line, at, room, lines.length === 0 ? margin : 0);
    if (space === -1) return [...lines, lead + line.slice(at)];
    lines.push((lead + line.slice(at, space)).trimEnd());
    at = space;
    while (line[at] === ' ') at++;
  }
}

/** The last space within the next `room` characters, or else the first one after them; -1 if there is none. */
function breakAt(line: string, at: number, room: number, margin: number): number {
  const last = line.slice(at, at + room + 1).lastIndexOf(' ');
  return last > margin ? at + last : line.indexOf(' ', at + Math.max(room, margin));
}
