import { writeRows } from '../../src/lake/csv.js';
import { dateOf, inFolder, partName, runFolder, type Tree } from '../../src/lake/layout.js';
import type { PublishedPart } from '../../src/lake/manifest.js';
import type { MergePlan } from '../../src/lake/merge/plan.js';
import { framingOf } from '../../src/lake/part/framing.js';
import { PartWriter } from '../../src/lake/part/writer.js';
import type { RunFile } from '../../src/lake/run-file.js';
import { headerCells } from '../../src/lake/schema.js';
import type { ObjectStore } from '../../src/lake/store/index.js';

/** The only part of a tree without rows: a header, so that every reader sees the columns (DESIGN 3.9). */
export async function headerOnlyPart(
  store: ObjectStore,
  run: RunFile,
  plan: Pick<MergePlan, 'columns'>,
  tree: Tree,
): Promise<PublishedPart> {
  const framing = framingOf(run.resource.csv);
  const folder = runFolder(run.resource.name, tree, dateOf(run.nominalStart), run.runId);
  // Always the same bytes for a run, so attempts may share the name.
  const writer = new PartWriter(store, inFolder(folder, partName(0, '00000000', framing.extension)), {
    framing,
    header: writeRows([headerCells(plan.columns)], run.resource.csv.delimiter),
    columns: plan.columns.length,
    index: tree === 'snapshots' ? 'beside' : 'none',
  });
  const { key, bytes, rawBytes, rows, crc32, sha256, first, last } = await writer.finish();
  return { key, bytes, rawBytes, rows, crc32, sha256, first, last };
}
