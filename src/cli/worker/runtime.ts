import { createWriteStream } from 'node:fs';
import {
  DefaultLogger,
  type LogEntry,
  type Logger,
  makeTelemetryFilterString,
  Runtime,
} from '@temporalio/worker';

import { prometheusMetrics } from '../../temporal/worker/telemetry.js';
import { printable, printableJson } from '../shared/output.js';

export type LogFormat = 'text' | 'json';
export type LogLevelName = 'trace' | 'debug' | 'info' | 'warn' | 'error';

interface LogOptions {
  readonly format: LogFormat;
  readonly level: LogLevelName;
  /** The log is appended to this file. Default: stderr. */
  readonly file?: string | undefined;
  /** Address of the Prometheus endpoint, such as `127.0.0.1:9464`. Default: none. */
  readonly metrics?: string | undefined;
}

/**
 * Installs the SDK's runtime of this process. Call it once, before any worker is created. Without the SDK's signal
 * handlers, only the command decides when the worker drains.
 *
 * @returns the logger, which also works after the runtime has shut down
 */
export function installRuntime({ format, level, file, metrics }: LogOptions): Logger {
  const target = file === undefined ? process.stderr : createWriteStream(file, { flags: 'a', mode: 0o600 });
  const lineOf = format === 'json' ? jsonLine : textLine;
  const logger = new DefaultLogger(upper(level), (entry) => void target.write(`${lineOf(entry)}\n`));
  // Without `forward`, the SDK's core writes to the console itself.
  const logging = { filter: makeTelemetryFilterString({ core: 'WARN' }), forward: {} };
  const telemetryOptions =
    metrics === undefined ? { logging } : { logging, metrics: prometheusMetrics(metrics) };
  Runtime.install({ logger, shutdownSignals: [], telemetryOptions });
  return logger;
}

/** Installs a runtime that logs only errors of the SDK's core, for commands that print their own messages. */
export function silenceRuntime(): void {
  const logging = { filter: makeTelemetryFilterString({ core: 'ERROR' }), forward: {} };
  const logger = new DefaultLogger('ERROR', () => {});
  Runtime.install({ logger, shutdownSignals: [], telemetryOptions: { logging } });
}

function upper(level: LogLevelName): LogEntry['level'] {
  return level.toUpperCase() as LogEntry['level'];
}

/** One JSON object per line: time, level, message, and the fields that the SDK and the activities add. */
export function jsonLine({ timestampNanos, level, message, meta }: LogEntry): string {
  const fields = Object.fromEntries(Object.entries(meta ?? {}).map(([name, value]) => [name, plain(value)]));
  return printableJson(
    JSON.stringify({ ...fields, time: timeOf(timestampNanos), level: level.toLowerCase(), message }),
  );
}

export function textLine({ timestampNanos, level, message, meta }: LogEntry): string {
  const fields = Object.entries(meta ?? {}).map(([name, value]) => `${name}=${shown(plain(value))}`);
  return printable([timeOf(timestampNanos), level.padEnd(5), message, ...fields].join(' '));
}

function timeOf(nanos: bigint): string {
  return new Date(Number(nanos / 1_000_000n)).toISOString();
}

/** `JSON.stringify` drops an error's message and throws for a bigint. */
function plain(value: unknown): unknown {
  if (value instanceof Error) return value.stack ?? value.message;
  return typeof value === 'bigint' ? value.toString() : value;
}

function shown(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value)
    ? value
    : (JSON.stringify(value) ?? 'undefined');
}
