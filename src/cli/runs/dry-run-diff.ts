import type { ObjectKey } from '../../core/brands.js';
import type { DiffCell, ExportResult } from '../../core/contract/index.js';
import type { ConnectionSettings } from '../../core/settings.js';
import { parseStored } from '../../core/stored-json.js';
import { withLake } from '../shared/open-lake.js';
import { output } from '../shared/output.js';
import { CellPrinter } from './cell-printer.js';

/**
 * Prints the cells that dry runs would change, or audits find different, as tables or as NDJSON, and removes the objects that held them. The limit is for
 * all resources and connections of a command together.
 */
export class DiffPrinter {
  readonly #cells: CellPrinter;

  constructor(...of: ConstructorParameters<typeof CellPrinter>) {
    this.#cells = new CellPrinter(...of);
  }

  /** @throws OutOfReachError if the lake does not answer */
  async print({ runs }: ExportResult, connection: ConnectionSettings): Promise<void> {
    const diffs = runs.flatMap(({ resource, dryRun, audit }) => {
      const key = dryRun?.diff ?? audit?.diff;
      return key ? [{ resource, key }] : [];
    });
    if (diffs.length === 0) return;
    await withLake(connection, async ({ store, retry }) => {
      for (const { resource, key } of diffs) {
        const found = await retry(() => store.readIfExists(key));
        await retry(() => store.remove([key]));
        if (found === null) output.note(`warning: ${resource}: ${gone(key)}`);
        else this.#cells.show(connection.name, resource, cellsIn(found.body));
      }
    });
  }
}

function cellsIn(body: Buffer): DiffCell[] {
  const lines = body.toString('utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => parseStored(line) as DiffCell);
}

function gone(key: ObjectKey): string {
  return `the diff ${key} is no longer in the lake. It is removed after an hour, and by a purge.`;
}

/** The result without the keys of diffs, whose objects are removed. */
export function withoutDiffs(result: ExportResult): ExportResult {
  const runs = result.runs.map(({ dryRun, audit, ...run }) => ({
    ...run,
    ...(dryRun && { dryRun: { ...dryRun, diff: null } }),
    ...(audit && { audit: { ...audit, diff: null } }),
  }));
  return { ...result, runs };
}
