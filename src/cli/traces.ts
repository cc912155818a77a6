import type { ClientInterceptors } from '@temporalio/client';
import type { Traces } from '../temporal/traces.js';
import type { GlobalOptions } from './options.js';

/**
 * What sends traces where `--traces` asks for them, else `null`, and nothing of OpenTelemetry is loaded.
 *
 * @throws ConfigurationError when a package is missing, or a variable of OpenTelemetry cannot be used
 */
export async function readTraces(
  { traces }: GlobalOptions,
  onTrouble: (message: string) => void,
): Promise<Traces | null> {
  if (traces !== true) return null;
  const { openTraces } = await import('../temporal/traces.js');
  return openTraces(process.env, onTrouble);
}

/** For a client, where there are traces. */
export function clientInterceptors(traces: Traces | null): ClientInterceptors | undefined {
  return traces === null ? undefined : { workflow: [...traces.client] };
}
