import type { ResourceSettings } from '../../core/settings.js';
import type { PublishedResource } from '../../lake/ddl/sources.js';
import type { PublishedSnapshot } from '../../lake/published/read-published.js';
import { SnapshotNotFoundError } from '../../lake/published/snapshot-not-found-error.js';
import { maskedColumns } from '../../lake/rows/profile.js';
import { type OpenLake, publishedSnapshot } from './open-lake.js';
import { output } from './output.js';

export interface Snapshots {
  readonly found: [ResourceSettings, PublishedSnapshot][];
  readonly missing: SnapshotNotFoundError[];
}

/** Reads the current snapshots, or those of a day, as far as they exist. */
export async function snapshotsOf(
  lake: OpenLake,
  resources: readonly ResourceSettings[],
  dt: string | undefined,
): Promise<Snapshots> {
  const snapshots: Snapshots = { found: [], missing: [] };
  for (const resource of resources) {
    try {
      snapshots.found.push([resource, await publishedSnapshot(lake, resource.name, dt)]);
    } catch (error) {
      if (!(error instanceof SnapshotNotFoundError)) throw error;
      snapshots.missing.push(error);
    }
  }
  return snapshots;
}

/** Prints a note for each resource without a snapshot. @throws SnapshotNotFoundError if no resource has one */
export function skipUnpublished({ found, missing }: Snapshots): void {
  if (missing.length > 0 && found.length === 0) throw missing[0];
  for (const error of missing) output.note(`Skipped: ${error.describe('. ')}`);
}

/** What statements need of a resource, without its lake. */
export function publishedResource(
  settings: ResourceSettings,
  { resource, pointer, manifest }: PublishedSnapshot,
): Omit<PublishedResource, 'lake' | 'numbers'> {
  const names = manifest.columns.map(({ name }) => name);
  // The change log spans runs whose masks may differ, so a column that is masked now or was masked then is text.
  const masked = [
    ...maskedColumns({ ...manifest, columns: manifest.selection }, names),
    ...maskedColumns(settings, names),
  ];
  return { resource, pointer, manifest, masked, deletes: settings.deletes, checks: settings.checks };
}
