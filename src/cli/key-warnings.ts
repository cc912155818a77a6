import type { ConnectionSettings } from '../core/settings.js';
import { worldReadableWarnings } from '../doctor/index.js';
import { output } from './output.js';

/** Says which secrets of connections lie in files that everybody on this machine can read. */
export async function warnOfOpenKeys(connections: readonly ConnectionSettings[]): Promise<void> {
  for (const connection of connections) {
    for (const [message, remedy] of await worldReadableWarnings(connection))
      output.note(`warning: ${connection.name}: ${message}. ${remedy}`);
  }
}
