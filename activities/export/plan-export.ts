import type { ExportInput, ExportPlan } from '../../src/core/contract/index.js';
import { configDigest, notPreviewed, PREVIEWED } from '../../src/core/fingerprint.js';
import type { ActivityDeps } from '../../src/run/deps.js';
import { finalFailure } from '../../src/run/failures.js';

/** Selects the resources of an export: the requested ones, or all resources in the worker's configuration. */
export async function planExport(
  deps: ActivityDeps,
  { connection, resources, dryRun }: ExportInput,
): Promise<ExportPlan> {
  const { settings } = deps.connection(connection);
  const other = dryRun?.preview && notPreviewed(dryRun.preview.digest, configDigest(settings))[0];
  if (other !== undefined) {
    throw finalFailure(
      'Configuration',
      `connections.${connection}.${other} differs from ${deps.origin}, and a dry run uses the worker's value. It can preview only ` +
        `${PREVIEWED.join(', ')}. To preview this key, run the command with --local.`,
    );
  }
  const known = settings.resources.map((resource) => resource.name);
  const unknown = (resources ?? []).filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw finalFailure(
      'Configuration',
      `connection "${connection}" has no resource "${unknown.join('", "')}" in ${deps.origin}, which has ${known.join(', ')}. Add it to the worker's file, and reload the worker or restart it.`,
    );
  }
  return {
    resources: resources ?? known,
    giveUpAfterMs: settings.retries.giveUpAfterMs,
    minIntervalMs: settings.sync.minIntervalMs,
    alerts: settings.notify.some(({ on }) => on.length > 0),
  };
}
