import { createWriteStream } from 'node:fs';
import {
  DefaultLogger,
  type LogEntry,
  type Logger,
  makeTelemetryFilterString,
  Runtime,
} from '@temporalio/worker';

import { prometheusMetrics } from '../temporal/telemetry.js';

export const LOG_FORMATS = ['text', 'json'] as const;
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];
export type LogLevelName = (typeof LOG_LEVELS)[number];

export interface LogOptions {
  readonly format: LogFormat;
  readonly level: LogLevelName;
  /** Appended to, instead of stderr. */
  readonly file?: string | undefined;
  /** Where Prometheus may ask for metrics, `127.0.0.1:9464`; absent: nowhere. */
  readonly metrics?: string | undefined;
}

/**
 * Sets up the SDK's runtime of this process, once and before any worker. Signals are left to the command: the SDK's
 * own handlers would drain the worker behind its back.
 *
 * @returns its logger, which works after the runtime has ended too
 */
export function installRuntime({ format, level, file, metrics }: LogOptions): Logger {
  const target = file === undefined ? process.stderr : createWriteStream(file, { flags: 'a', mode: 0o600 });
  const lineOf = format === 'json' ? jsonLine : textLine;
  const logger = new DefaultLogger(upper(level), (entry) => void target.write(`${lineOf(entry)}\n`));
  // The SDK's core logs by itself unless it is told to use our logger.
  const logging = { filter: makeTelemetryFilterString({ core: 'WARN' }), forward: {} };
  const telemetryOptions =
    metrics === undefined ? { logging } : { logging, metrics: prometheusMetrics(metrics) };
  Runtime.install({ logger, shutdownSignals: [], telemetryOptions });
  return logger;
}

/** For commands that tell by themselves what the SDK would log. Errors of the SDK itself still show. */
export function silenceRuntime(): void {
  const logging = { filter: makeTelemetryFilterString({ core: 'ERROR' }), forward: {} };
  const logger = new DefaultLogger('ERROR', () => {});
  Runtime.install({ logger, shutdownSignals: [], telemetryOptions: { logging } });
}

function upper(level: LogLevelName): LogEntry['level'] {
  return level.toUpperCase() as LogEntry['level'];
}

/** One JSON object a line: time, level, message, and whatever the SDK and the activities add. */
export function jsonLine({ timestampNanos, level, message, meta }: LogEntry): string {
  const fields = Object.fromEntries(Object.entries(meta ?? {}).map(([name, value]) => [name, plain(value)]));
  return JSON.stringify({ ...fields, time: timeOf(timestampNanos), level: level.toLowerCase(), message });
}

export function textLine({ timestampNanos, level, message, meta }: LogEntry): string {
  const fields = Object.entries(meta ?? {}).map(([name, value]) => `${name}=${shown(plain(value))}`);
  return [timeOf(timestampNanos), level.padEnd(5), message, ...fields].join(' ');
}

function timeOf(nanos: bigint): string {
  return new Date(Number(nanos / 1_000_000n)).toISOString();
}

/** JSON would drop what an error says, and knows no big integers. */
function plain(value: unknown): unknown {
  if (value instanceof Error) return value.stack ?? value.message;
  return typeof value === 'bigint' ? value.toString() : value;
}

function shown(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value)
    ? value
    : (JSON.stringify(value) ?? 'undefined');
}
