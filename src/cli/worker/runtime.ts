import { createWriteStream } from 'node:fs';
import {
  DefaultLogger,
  type LogEntry,
  type Logger,
  makeTelemetryFilterString,
  Runtime,
} from '@temporalio/worker';
import { prometheusMetrics } from '../../temporal/worker/telemetry.js';
import { jsonLine, textLine } from '../shared/log-line.js';

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
  // For example a full disk. The log is lost, and the work continues.
  target.on('error', () => {});
  const width = (): number | undefined =>
    file === undefined && process.stderr.isTTY ? process.stderr.columns : undefined;
  const lineOf = (entry: LogEntry): string =>
    format === 'json' ? jsonLine(entry) : textLine(entry, width());
  const logger = new DefaultLogger(
    level.toUpperCase() as LogEntry['level'],
    (entry) => void target.write(`${lineOf(entry)}\n`),
  );
  // Without `forward`, the SDK's core writes to the console itself. It logs each retry of each call while Temporal is out
  // of reach, which the worker logs once a minute.
  const filter = `${makeTelemetryFilterString({ core: 'WARN' })},temporalio_client::retry=ERROR`;
  const logging = { filter, forward: {} };
  const measured = metrics === undefined ? {} : { metrics: prometheusMetrics(metrics) };
  Runtime.install({ logger, shutdownSignals: [], telemetryOptions: { logging, ...measured } });
  return logger;
}

/** Installs a runtime that logs only errors of the SDK's core, for commands that print their own messages. */
export function silenceRuntime(): void {
  const logging = { filter: makeTelemetryFilterString({ core: 'ERROR' }), forward: {} };
  const logger = new DefaultLogger('ERROR', () => {});
  Runtime.install({ logger, shutdownSignals: [], telemetryOptions: { logging } });
}
