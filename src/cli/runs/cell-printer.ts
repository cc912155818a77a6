import type { DiffCell } from '../../core/contract/index.js';
import { output, printJsonLine } from '../shared/output.js';
import { resultTable } from '../shared/result-table.js';

const NAMES = ['key', 'column', 'before', 'after'] as const;
/** Characters of a line. */
const WIDTH = 80;
const COLUMNS = NAMES.map((name) => ({ name, type: 'VARCHAR' }));

/** Prints cells as tables or as NDJSON. The limit is for all resources and connections of a command together. */
export class CellPrinter {
  #left: number;

  constructor(
    limit: number,
    private readonly isJson: boolean,
    private readonly verb: 'would change' | 'differ',
  ) {
    this.#left = limit;
  }

  /** @param cells the first ones; one more than the limit shows that there are more */
  show(connection: string, resource: string, cells: readonly DiffCell[]): void {
    const shown = cells.slice(0, this.#left);
    this.#left -= shown.length;
    if (this.isJson) for (const cell of shown) printJsonLine({ connection, resource, ...cell });
    else if (shown.length > 0) this.#table(resource, shown);
    if (shown.length < cells.length)
      output.note(`note: ${resource}: more cells ${this.verb}; --limit sets how many are shown`);
  }

  #table(resource: string, cells: readonly DiffCell[]): void {
    const rows = cells.map(({ key, column, before, after }) => [
      key.map((one) => one ?? '').join(', '),
      column,
      before,
      after,
    ]);
    output.out(`${resource}:`);
    for (const line of resultTable(COLUMNS, rows, WIDTH).lines) output.out(line);
    output.out('');
  }
}
