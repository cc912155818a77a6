import type { Activities } from '../src/core/contract.js';
import type { ActivityDeps } from './deps.js';
import { finalFailure } from './failures.js';

/** Which resources an export covers: those asked for, else all that the worker's configuration names. */
export function createPlanExport(deps: ActivityDeps): Activities['worktrack.planExport'] {
  return async ({ connection, resources }) => {
    const { settings } = deps.connection(connection);
    const known = settings.resources.map((resource) => resource.name);
    const unknown = (resources ?? []).filter((name) => !known.includes(name));
    if (unknown.length > 0) {
      throw finalFailure(
        'Configuration',
        `connection "${connection}" has no resource "${unknown.join('", "')}"; the worker's configuration names ${known.join(', ')}`,
      );
    }
    return {
      resources: resources ?? known,
      giveUpAfterMs: settings.retries.giveUpAfterMs,
      minIntervalMs: settings.sync.minIntervalMs,
      notify: settings.notify?.on ?? [],
    };
  };
}
