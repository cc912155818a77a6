import { configJsonSchema } from '../../config/index.js';
import { errorMessage } from '../../core/errors.js';
import { resolveSecret } from '../../core/secrets.js';
import { plainHashWarning } from '../../doctor/masking.js';
import { EXIT, type ExitCode } from '../shared/exit-code.js';
import type { GlobalOptions } from '../shared/options.js';
import { output, printJson } from '../shared/output.js';
import { readSettings } from '../shared/settings.js';

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
  return EXIT.done;
}
