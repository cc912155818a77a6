import type { ObjectKey } from '../../src/core/brands.js';
import { dateOf, runFolder, type Tree } from '../../src/lake/documents/lake-layout.js';
import type { RunFile } from '../../src/lake/documents/run-file.js';

/** The fields of a run file that say where its folders are. A run in memory has no run file. */
export interface RunPlace extends Pick<RunFile, 'nominalStart' | 'runId'> {
  readonly resource: Pick<RunFile['resource'], 'name'>;
}

/** The folder of a run in `snapshots/` or `changes/`, without a trailing slash. */
export function folderIn({ resource, nominalStart, runId }: RunPlace, tree: Tree): ObjectKey {
  return runFolder(resource.name, tree, dateOf(nominalStart), runId);
}
