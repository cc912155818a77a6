import { readChain } from '../../../src/lake/published/chain.js';
import { assertRowEquals } from '../../support/oracle.js';
import { readPointer, readSnapshot, readTree } from '../../support/snapshot.js';
import { recordsOf } from './records.js';
import type { World } from './world.js';

/** Compares the snapshots with the service row by row, and the counts of all runs with the rows. */
export async function checkMirrored(
  world: World,
  resources: readonly string[] = world.resources,
): Promise<void> {
  for (const resource of resources) {
    const expected = new Map(
      (await recordsOf(world, resource)).map((text) => [(JSON.parse(text) as { id: string }).id, text]),
    );
    const { rows } = await readSnapshot(world.store, resource);
    const ids = new Set(rows.map((row) => row.id!));
    if (ids.size !== rows.length)
      throw new Error(`${resource}: ${rows.length - ids.size} rows are duplicates`);
    const lost = [...expected.keys()].filter((id) => !ids.has(id));
    const odd = [...ids].filter((id) => !expected.has(id));
    if (lost.length + odd.length > 0)
      throw new Error(`${resource}: missing ${lost.join()}; unknown to the service: ${odd.join()}`);
    for (const row of rows) assertRowEquals(row, expected.get(row.id!)!);
    await checkChangeLogs(world, resource, rows.length);
  }
}

/**
 * Over all published runs, each row that was not purged was inserted once, and no run's change log has a row twice.
 * A purge removes rows from change logs.
 */
async function checkChangeLogs(world: World, resource: string, rows: number): Promise<void> {
  const pointer = await readPointer(world.store, resource);
  let inserted = 0;
  let latest = true;
  for await (const { runId, changes, manifest } of readChain(world.store, pointer)) {
    const { counts } = manifest;
    inserted += counts.inserted;
    if (!latest) continue;
    const tree = await readTree(world.store, changes);
    if (new Set(tree.rows.map((row) => row.id)).size !== tree.rows.length)
      throw new Error(`${resource}: the change log of ${runId} has a row twice`);
    const purged = world.purged.get(resource) ?? 0;
    const changed = counts.inserted + counts.updated;
    if (tree.rows.length > changed || tree.rows.length < changed - purged)
      throw new Error(`${resource}: the change log of ${runId} has ${tree.rows.length} rows`);
    latest = false;
  }
  if (inserted < rows || inserted > rows + (world.purged.get(resource) ?? 0))
    throw new Error(`${resource}: ${inserted} rows inserted over all runs, ${rows} there`);
}
