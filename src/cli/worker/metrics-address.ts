import { readListen } from '../../config/index.js';
import { ConfigurationError } from '../../core/configuration-error.js';
import { errorMessage } from '../../core/errors.js';
import { UsageError } from '../shared/usage-error.js';

/** Parses `--metrics` into the form that the SDK accepts. @throws UsageError */
export function readMetricsAddress(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  try {
    const { host, port } = readListen(text);
    // The SDK accepts IP addresses only.
    const address = host === 'localhost' ? '127.0.0.1' : host;
    return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`;
  } catch (error) {
    if (error instanceof RangeError) throw new UsageError(`--metrics: ${error.message}`);
    throw error;
  }
}

/** Starts the metrics endpoint with `start`. @throws ConfigurationError if it cannot listen on the address */
export function startMetrics<T>(address: string | undefined, start: () => T): T {
  try {
    return start();
  } catch (cause) {
    if (address === undefined) throw cause;
    const text = errorMessage(cause);
    const why = /address already in use/i.test(text) ? 'another process uses this port' : text;
    throw new ConfigurationError(`cannot serve metrics on ${address}: ${why}`, {
      remedy: 'Choose an unused address and port of this machine with --metrics.',
      cause,
    });
  }
}
