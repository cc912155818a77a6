import type { ResourceSettings } from '../../core/settings.js';
import { findMissingChangeLogs } from '../../lake/published/change-logs.js';
import { type PublishedSnapshot, SnapshotNotFoundError } from '../../lake/published/read-published.js';
import { type OpenLake, publishedSnapshot } from './open-lake.js';
import { output } from './output.js';

export interface Snapshots {
  readonly found: [ResourceSettings, PublishedSnapshot][];
  readonly missing: SnapshotNotFoundError[];
  /** Names of the resources whose change logs are not those of the chain. */
  readonly incomplete: Set<string>;
}

/**
 * Reads the current snapshots, or those of a day, as far as they exist. With the current ones, it compares the change logs with the
 * published runs, and notes what is missing.
 */
export async function snapshotsOf(
  lake: OpenLake,
  resources: readonly ResourceSettings[],
  dt: string | undefined,
): Promise<Snapshots> {
  const snapshots: Snapshots = { found: [], missing: [], incomplete: new Set() };
  for (const resource of resources) {
    try {
      const snapshot = await publishedSnapshot(lake, resource.name, dt);
      snapshots.found.push([resource, snapshot]);
      if (dt === undefined && (await lacksChangeLogs(lake, snapshot)))
        snapshots.incomplete.add(resource.name);
    } catch (error) {
      if (!(error instanceof SnapshotNotFoundError)) throw error;
      snapshots.missing.push(error);
    }
  }
  return snapshots;
}

/** Prints a note if the change logs are not those of the chain: some are missing, or are of runs that were left behind. */
async function lacksChangeLogs(
  { store, retry }: OpenLake,
  { pointer, manifest }: PublishedSnapshot,
): Promise<boolean> {
  const { resource } = pointer;
  if (manifest.leftBehind.length > 0) {
    output.note(
      `${resource}: an earlier latest.json was restored and adopted. The change logs of the runs that it left behind stay in the ` +
        'change-log views, also rows that the snapshot never had.',
    );
    return true;
  }
  const [first, ...others] = await retry(() => findMissingChangeLogs(store, pointer));
  if (first === undefined) return false;
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  output.note(
    `${resource}: change logs are missing, so its change-log views lack rows: ${first.problem}${more}. The snapshot is not ` +
      `affected. \`worktrack verify --resource ${resource}\` lists what is missing.`,
  );
  return true;
}

/** Prints a note for each resource without a snapshot. @throws SnapshotNotFoundError if no resource has one */
export function skipUnpublished({ found, missing }: Pick<Snapshots, 'found' | 'missing'>): void {
  if (missing.length > 0 && found.length === 0) throw missing[0];
  for (const error of missing) output.note(`Skipped: ${error.describe('. ')}`);
}
