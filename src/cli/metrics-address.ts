import { readListen } from '../config/index.js';
import { ConfigurationError } from '../core/configuration-error.js';
import { UsageError } from './usage-error.js';

/** What `--metrics` says, as the SDK takes it. @throws UsageError */
export function readMetricsAddress(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    const { host, port } = readListen(text);
    // The SDK takes addresses, no names.
    const address = host === 'localhost' ? '127.0.0.1' : host;
    return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`--metrics: ${error.message}`);
    throw error;
  }
}

/** Starts what listens there. @throws ConfigurationError when it cannot */
export function startMetrics<T>(address: string | undefined, start: () => T): T {
  try {
    return start();
  } catch (cause) {
    if (address === undefined) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigurationError(`metrics cannot be served on ${address}: ${why}`, {
      remedy: 'Give an address and port of this machine that nobody listens on with --metrics.',
      cause,
    });
  }
}
