import { configJsonSchema } from '../../config/index.js';
import { ConfigurationError, errorMessage } from '../../core/errors.js';
import { resolveSecret } from '../../core/secrets.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { toUtcSeconds } from '../../core/utc-time.js';
import { plainHashWarning } from '../../doctor/check-masking.js';
import type { TemporalClient } from '../../temporal/client/connect.js';
import { EXIT, type ExitCode } from '../shared/choose-exit-code.js';
import type { GlobalOptions } from '../shared/command-options.js';
import { readSettings } from '../shared/each-connection.js';
import { output, printJson } from '../shared/output.js';

/** `worktrack config schema`: the JSON Schema of the configuration file, for editors. */
export function runConfigSchema(): ExitCode {
  printJson(configJsonSchema());
  return EXIT.done;
}

/** `worktrack config check`: reads the file as a worker would, and prints a summary. */
export async function runConfigCheck(options: GlobalOptions): Promise<ExitCode> {
  const { source, connections } = readSettings(options);
  output.out(`${source} is valid.`);
  for (const connection of connections) {
    const { name, baseUrl, lake, resources, apiKey } = connection;
    output.out(`  ${name}: ${baseUrl} -> ${lake.url}`);
    output.out(`    ${resources.map((resource) => resource.name).join(', ')}`);
    // Only the worker needs the key, so a key that this shell cannot read is a note and not an error.
    const why = await resolveSecret(apiKey).then(() => null, errorMessage);
    if (why !== null) output.note(`    This shell cannot read the API key, which the worker needs: ${why}`);
    const plain = plainHashWarning(connection);
    if (plain !== null) output.note(`    warning: ${plain.join('. ')}`);
  }
  await checkSchedules(connections, options);
  return EXIT.done;
}

/** Time limit for Temporal, which this command does not need, milliseconds. */
const TEMPORAL_TIMEOUT_MS = 1_500;
const DEFAULT_CRON = '0 2 * * *';

/** Asks Temporal about each schedule that the configuration sets, if Temporal answers. @throws ConfigurationError */
async function checkSchedules(
  connections: readonly ConnectionSettings[],
  options: GlobalOptions,
): Promise<void> {
  const bySchedule = new Map<string, ConnectionSettings>();
  for (const connection of connections) {
    const { cron, timezone } = connection.schedule;
    if (cron !== DEFAULT_CRON || timezone !== 'UTC') bySchedule.set(`${cron} ${timezone}`, connection);
  }
  if (bySchedule.size === 0) return;
  const { withOptionalTemporal } = await import('../shared/context.js');
  const { askForTimes } = await import('../../temporal/schedule/schedule.js');
  const ask = async (temporal: TemporalClient | null): Promise<void> => {
    if (temporal === null) return;
    for (const connection of bySchedule.values()) {
      const path = `connections.${connection.name}.schedule`;
      await askForTimes(temporal, connection).then(
        (times) => checkTimes(connection, path, times),
        (error: unknown) => {
          // Errors other than a schedule that Temporal rejects are only a note.
          if (error instanceof ConfigurationError) throw error;
          output.note(`    Temporal has not checked ${path}: ${errorMessage(error)}`);
        },
      );
    }
  };
  await withOptionalTemporal(options, 'It has not checked the schedule.', ask, {
    timeoutMs: TEMPORAL_TIMEOUT_MS,
    // What Temporal does not serve is a note here.
    check: async () => {},
  });
}

function checkTimes({ schedule }: ConnectionSettings, path: string, [next]: readonly Date[]): void {
  const { cron, timezone } = schedule;
  if (next === undefined)
    throw new ConfigurationError(`${path}: cron ${JSON.stringify(cron)} (${timezone}) never runs`, {
      path,
      remedy: `Correct ${path} in the configuration.`,
    });
  const at = toUtcSeconds(next.getTime());
  output.out(`    Temporal accepts ${path}; the next run would start at ${at}`);
}
