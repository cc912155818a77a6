import type { LogEntry } from '@temporalio/worker';
import { FAILURES } from '../../core/contract/index.js';
import { redactKnown } from '../../core/known-secrets.js';
import { printable, printableJson } from './output.js';

type Fields = Readonly<Record<string, unknown>>;
type Entry = Pick<LogEntry, 'timestampNanos' | 'level' | 'message' | 'meta'>;

/** Fields of the SDK, and those that a text line shows at its beginning. JSON lines have all of them. */
const OMITTED_IN_TEXT = [
  ...['namespace', 'taskQueue', 'workflowId', 'workflowRunId', 'workflowType', 'activityId', 'activityType'],
  ...['isLocal', 'sdkComponent', 'trace_id', 'span_id', 'trace_flags', 'runId', 'timeoutMs'],
];
const INDENT = '  ';
const MIN_WIDTH = 40;

/** One JSON object per line: time, level, message, and the fields that the SDK and the activities add. */
export function jsonLine({ timestampNanos, level, message, meta }: Entry): string {
  const base = { time: timeOf(timestampNanos), level: level.toLowerCase(), message };
  return printableJson(redactKnown(JSON.stringify({ ...base, ...fieldsOf(meta), ...base })));
}

/**
 * A line for people: what it is about, the message, and the fields that say more, without counts that are zero. The cause of a failure follows on lines of
 * its own.
 *
 * @param width of the terminal; longer lines are wrapped. Default: no limit
 */
export function textLine(
  { timestampNanos, level, message, meta }: Entry,
  width: number = Number.POSITIVE_INFINITY,
): string {
  const { connection, resource, phase, error, errorType: _, attempt, ...rest } = fieldsOf(meta);
  const subject = connection === undefined ? [] : [[connection, resource].filter(Boolean).join('/'), phase];
  const own = connection === undefined ? { resource, phase } : {};
  const shown = Object.entries({ ...own, attempt: Number(attempt) > 1 ? attempt : undefined, ...rest })
    .filter(([name, value]) => value !== undefined && value !== 0 && !OMITTED_IN_TEXT.includes(name))
    .map(([name, value]) => `${name}=${valueText(value)}`);
  const head = `${timeOf(timestampNanos).slice(0, 19)}Z ${level.padEnd(5)}`;
  const what = [...subject.filter(Boolean), message].join(' ');
  const causes = error === undefined ? [] : String(error).split('\n');
  // A line break in a message leads to an indented line, which cannot pass for a line of the log.
  const lines = [[head, what, ...shown].join(' '), ...causes]
    .flatMap((line) => line.split('\n'))
    .map((line) => printable(redactKnown(line)));
  return lines.flatMap((line, at) => wrapped(line, width, at === 0 ? '' : INDENT)).join('\n');
}

function timeOf(nanos: bigint): string {
  return new Date(Number(nanos / 1_000_000n)).toISOString();
}

function fieldsOf(meta: Fields = {}): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(meta)) {
    // Of no use to a reader, and long.
    if (name === 'taskToken') continue;
    if (value instanceof Error) Object.assign(fields, errorFields(name, value));
    // JSON.stringify throws for a bigint.
    else fields[name] = typeof value === 'bigint' ? value.toString() : value;
  }
  return fields;
}

/** A failure that a run reports with its cause needs no stack. Any other error may be a defect, so its stack is kept. */
function errorFields(name: string, error: Error): Fields {
  const { type } = error as { type?: unknown };
  if (typeof type === 'string' && Object.hasOwn(FAILURES, type))
    return { [name]: error.message, [`${name}Type`]: type };
  return { [name]: error.name === 'CancelledFailure' ? error.message : (error.stack ?? error.message) };
}

function valueText(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value)
    ? value
    : (JSON.stringify(value) ?? 'undefined');
}

/** Breaks a line between words, and a longer word anywhere, so that no line is wider than `width`. */
function wrapped(text: string, columns: number, indent: string): string[] {
  // Some terminals report a width of 0.
  const width = Math.max(columns, MIN_WIDTH);
  const lines: string[] = [];
  let at = 0;
  let lead = indent;
  while (lead.length + text.length - at > width) {
    const room = width - lead.length;
    const space = text.slice(at, at + room + 1).lastIndexOf(' ');
    const end = at + (space + lead.length > INDENT.length * 2 ? space : room);
    lines.push(lead + text.slice(at, end));
    at = end;
    while (text[at] === ' ') at++;
    lead = INDENT + INDENT;
  }
  return [...lines, lead + text.slice(at)];
}
