import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ClientInterceptors } from '@temporalio/client';
import { errorMessage } from '../../core/errors.js';
import type { DataConverter } from '../../temporal/client/connect.js';
import type { Traces } from '../../temporal/worker/open-telemetry.js';
import type { GlobalOptions } from './command-options.js';
import { UsageError } from './usage-error.js';

const KEYS = ['payloadCodecs', 'payloadConverterPath', 'failureConverterPath', 'externalStorage'];

/**
 * Loads the user's data converter: the export `dataConverter` (or default) of the module that `--data-converter` or
 * `$WORKTRACK_DATA_CONVERTER` names; `undefined` if neither is set.
 *
 * @throws UsageError if it cannot be loaded or is not a data converter
 */
export async function readDataConverter(
  options: GlobalOptions,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<DataConverter | undefined> {
  const file = options.dataConverter ?? (env.WORKTRACK_DATA_CONVERTER || undefined);
  if (file === undefined) return undefined;
  const origin = options.dataConverter === undefined ? '$WORKTRACK_DATA_CONVERTER' : '--data-converter';
  const loaded = await load(file, origin);
  const converter = loaded.dataConverter ?? loaded.default;
  if (typeof converter === 'object' && converter !== null && KEYS.some((key) => key in converter))
    return converter;
  throw new UsageError(
    `${file}, which ${origin} names, exports no data converter; it must export \`dataConverter\`, an object with ${KEYS.join(', ')}`,
  );
}

async function load(file: string, origin: string): Promise<{ dataConverter?: unknown; default?: unknown }> {
  try {
    return (await import(pathToFileURL(resolve(file)).href)) as object;
  } catch (cause) {
    throw new UsageError(`${file}, which ${origin} names, cannot be loaded: ${errorMessage(cause)}`);
  }
}

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
  const { openTraces } = await import('../../temporal/worker/open-telemetry.js');
  return openTraces(process.env, onWarning);
}

/** The interceptors of a client; `undefined` without traces. */
export function clientInterceptors(traces: Traces | null): ClientInterceptors | undefined {
  return traces === null ? undefined : { workflow: [...traces.client] };
}
