import { resolveSecret } from '../api/secrets.js';
import { configJsonSchema } from '../config/index.js';
import { readSettings } from './context.js';
import { EXIT, type ExitCode } from './exit-code.js';
import type { GlobalOptions } from './options.js';
import { output, printJson } from './output.js';

/** `worktrack config schema`: the JSON Schema of the configuration file, for editors. */
export function runConfigSchema(): ExitCode {
  printJson(configJsonSchema());
  return EXIT.done;
}

/** `worktrack config check`: reads the file as a worker would, and says what it comes to. */
export async function runConfigCheck(options: GlobalOptions): Promise<ExitCode> {
  const { source, connections } = readSettings(options);
  output.out(`${source} is right.`);
  for (const { name, baseUrl, lake, resources, apiKey } of connections) {
    output.out(`  ${name}: ${baseUrl} -> ${lake.url}`);
    output.out(`    ${resources.map((resource) => resource.name).join(', ')}`);
    // The key is the worker's: that this shell has none is worth a word and no error.
    const why = await resolveSecret(apiKey).then(
      () => null,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    if (why !== null) output.note(`    The API key cannot be read here: ${why} The worker needs it.`);
  }
  return EXIT.done;
}
