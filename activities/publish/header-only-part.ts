import { inFolder, partName, type Tree } from '../../src/lake/documents/lake-layout.js';
import { type PublishedPart, toPublished } from '../../src/lake/documents/manifest.js';
import type { RunFile } from '../../src/lake/documents/run-file.js';
import type { MergePlan } from '../../src/lake/merge/plan.js';
import { framingOf } from '../../src/lake/part/framing.js';
import { PartWriter } from '../../src/lake/part/part-writer.js';
import { headerRow } from '../../src/lake/rows/data-columns.js';
import type { ObjectStore } from '../../src/lake/store/index.js';
import { folderIn } from '../shared/published-run.js';

/** Writes the only part of a snapshot or change log without rows: a header, so that readers see the columns (docs/explanation/guarantees.md#header). */
export async function headerOnlyPart(
  store: ObjectStore,
  run: RunFile,
  plan: Pick<MergePlan, 'columns'>,
  tree: Tree,
): Promise<PublishedPart> {
  const framing = framingOf(run.resource.csv);
  const folder = folderIn(run, tree);
  // All attempts of a run write the same bytes, so they can share the name.
  const writer = new PartWriter(store, inFolder(folder, partName(0, '00000000', framing.extension)), {
    framing,
    header: headerRow(plan.columns, run.resource.csv),
    columns: plan.columns.length,
    index: tree === 'snapshots' ? 'beside' : 'none',
  });
  return toPublished(await writer.finish());
}
