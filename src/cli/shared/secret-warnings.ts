import type { ConnectionSettings } from '../../core/settings.js';
import { worldReadableWarnings } from '../../doctor/secret.js';
import { output } from './output.js';

/** Warns about secrets in files that every user of this machine can read. */
export async function warnOfReadableSecrets(connections: readonly ConnectionSettings[]): Promise<void> {
  for (const connection of connections) {
    for (const [message, remedy] of await worldReadableWarnings(connection))
      output.note(`warning: ${connection.name}: ${message}. ${remedy}`);
  }
}
