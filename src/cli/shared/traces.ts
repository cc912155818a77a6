import type { ClientInterceptors } from '@temporalio/client';
import type { Traces } from '../../temporal/worker/traces.js';
import type { GlobalOptions } from './options.js';

/**
 * Sets up traces if `--traces` is set. Otherwise returns `null` and does not load OpenTelemetry.
 *
 * @throws ConfigurationError if a package is missing or a variable of OpenTelemetry is not valid
 */
export async function readTraces(
  { traces }: GlobalOptions,
  onWarning: (message: string) => void,
): Promise<Traces | null> {
  if (traces !== true) return null;
  const { openTraces } = await import('../../temporal/worker/traces.js');
  return openTraces(process.env, onWarning);
}

/** The interceptors of a client; `undefined` without traces. */
export function clientInterceptors(traces: Traces | null): ClientInterceptors | undefined {
  return traces === null ? undefined : { workflow: [...traces.client] };
}
