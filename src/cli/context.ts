import { loadSettings, selectConnection } from '../config/index.js';
import { ConfigurationError } from '../core/configuration-error.js';
import type { ConnectionSettings, Settings } from '../core/settings.js';
import { connectTemporal, type TemporalClient, temporalConfig } from '../temporal/connect.js';
import { grpcMessage, isDenied, isNamespaceMissing } from '../temporal/grpc.js';
import { OutOfReachError, reach } from '../temporal/reach.js';
import type { Traces } from '../temporal/traces.js';
import { readDataConverter } from './data-converter.js';
import { type GlobalOptions, reachTimeoutMs } from './options.js';
import { output } from './output.js';
import { clientInterceptors, readTraces } from './traces.js';

/** @throws ConfigurationError */
export function readSettings(options: GlobalOptions): Settings {
  return loadSettings({ file: options.config, env: process.env, cwd: process.cwd() });
}

/** The connection that the command is about. @throws ConfigurationError */
export function readConnection(options: GlobalOptions): ConnectionSettings {
  return selectConnection(readSettings(options), options.connection);
}

/** The connection that is named, or all of them. @throws ConfigurationError */
export function chosenConnections(
  settings: Settings,
  name: string | undefined,
): readonly ConnectionSettings[] {
  return name === undefined ? settings.connections : [selectConnection(settings, name)];
}

/** Where Temporal is. @throws ConfigurationError for a profile or variable that cannot be read */
export function temporalPlace(options: GlobalOptions): { address: string; namespace: string } {
  try {
    const { connectionOptions, namespace } = temporalConfig({
      address: options.address,
      namespace: options.namespace,
    });
    return { address: connectionOptions.address, namespace };
  } catch (cause) {
    throw new ConfigurationError(`Temporal's configuration cannot be read: ${grpcMessage(cause)}`, {
      remedy: 'Correct the TEMPORAL_* variables, or the profile file that TEMPORAL_CONFIG_FILE names.',
      cause,
    });
  }
}

/**
 * Tries for Temporal until it answers.
 *
 * @throws OutOfReachError after `WORKTRACK_REACH_TIMEOUT`; ConfigurationError when it turns us away
 */
export async function openTemporal(
  options: GlobalOptions,
  timeoutMs: number = reachTimeoutMs(process.env),
  onTrouble: (message: string) => void = output.note,
): Promise<TemporalClient> {
  const { address, namespace } = temporalPlace(options);
  const dataConverter = await readDataConverter(options);
  const traces = await readTraces(options, output.note);
  const interceptors = clientInterceptors(traces);
  const temporal = await reach(
    `Temporal at ${address}`,
    () => connectTemporal({ address, namespace, dataConverter, interceptors }),
    (error) => !isDenied(error),
    grpcMessage,
    { timeoutMs, onTrouble },
  ).catch((error: unknown) => {
    throw toUserError(error, { address, namespace });
  });
  return traces === null ? temporal : closedWith(temporal, traces);
}

function closedWith(temporal: TemporalClient, traces: Traces): TemporalClient {
  return {
    ...temporal,
    async close() {
      await temporal.close();
      await traces.close();
    },
  };
}

/** Temporal gets so long from a command that can do without: what the lake says is worth more than a long wait. */
const WITHOUT_MS = 4_000;

/**
 * Temporal for a command that the lake alone serves too; `null`, with a note, where it is out of reach.
 *
 * @param instead what is shown then, a sentence
 */
export async function tryTemporal(options: GlobalOptions, instead: string): Promise<TemporalClient | null> {
  try {
    return await openTemporal(options, Math.min(WITHOUT_MS, reachTimeoutMs(process.env)), () => {});
  } catch (error) {
    if (!(error instanceof OutOfReachError)) throw error;
    output.note(`${error.message}. ${instead}`);
    return null;
  }
}

/** Runs a command's work with a client, and says what of Temporal's answers is the user's to mend. */
export async function withTemporal<T>(
  options: GlobalOptions,
  work: (temporal: TemporalClient) => Promise<T>,
): Promise<T> {
  const temporal = await openTemporal(options);
  try {
    return await work(temporal);
  } catch (error) {
    throw toUserError(error, temporal);
  } finally {
    await temporal.close();
  }
}

/** @param error from Temporal or from anything else, which passes as it is */
export function toUserError(error: unknown, place: { address: string; namespace: string }): unknown {
  if (isDenied(error)) {
    return new ConfigurationError(`Temporal at ${place.address} turned us away: ${grpcMessage(error)}`, {
      remedy: 'Correct TEMPORAL_API_KEY or the TLS certificate, and check that it may use the namespace.',
      cause: error,
    });
  }
  if (isNamespaceMissing(error)) {
    return new ConfigurationError(`Temporal at ${place.address} has no namespace "${place.namespace}"`, {
      remedy: 'Correct TEMPORAL_NAMESPACE or --namespace, or create the namespace.',
      cause: error,
    });
  }
  return error;
}
