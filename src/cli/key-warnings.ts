import { resolveSecret } from '../api/secrets.js';
import type { ConnectionSettings } from '../core/settings.js';
import { worldReadableWarning } from '../doctor/index.js';
import { output } from './output.js';

/** Says of which connections' API keys everybody on this machine can read the file. A key that is not here is no matter here. */
export async function warnOfOpenKeys(connections: readonly ConnectionSettings[]): Promise<void> {
  for (const { name, apiKey } of connections) {
    const secret = await resolveSecret(apiKey).catch(() => null);
    if (secret?.worldReadable !== true) continue;
    const [message, remedy] = worldReadableWarning(apiKey);
    output.note(`warning: ${name}: ${message}. ${remedy}`);
  }
}
