import { WorktrackError } from '../../core/errors.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { shellWord } from '../../core/short-text.js';
import { findWindowFields } from '../../doctor/index.js';
import { output } from '../shared/output.js';

/** Time limit of one request to the service. */
const SERVICE_TIMEOUT_MS = 5_000;

/**
 * The dates of windows of a connection that is about to be written, if its key is in the environment and the service answers;
 * otherwise `doctor --try-service` finds them later.
 */
export async function findInService(connection: ConnectionSettings): Promise<Record<string, string>> {
  const { apiKey } = connection;
  if ('env' in apiKey && !process.env[apiKey.env]) return {};
  try {
    return await findWindowFields(connection, SERVICE_TIMEOUT_MS);
  } catch (error) {
    if (error instanceof WorktrackError) return {};
    throw error;
  }
}

/** Says what was found for a new connection, and what comes next. @param connection its name; `null` for the only one */
export function noteFound(
  windowFields: Readonly<Record<string, string>>,
  apiKeyEnv: string,
  connection: string | null,
): void {
  for (const [name, field] of Object.entries(windowFields))
    output.note(
      `The list of ${name} seems to be dated by "${field}" (\`windowField\`), so deletes inside its window are detected.`,
    );
  const only = connection === null ? '' : ` --connection ${shellWord(connection)}`;
  const next = `run \`worktrack doctor --try-service${only}\`.`;
  output.note(
    process.env[apiKeyEnv]
      ? `Next: ${next}`
      : `Next: set the environment variable ${apiKeyEnv} to the API key, then ${next}`,
  );
}
