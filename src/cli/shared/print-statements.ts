import { renderDdl, type Statement } from '../../lake/ddl/ddl.js';
import { output } from './output.js';
import { UsageError } from './usage-error.js';

/** Prints a script of SQL statements on stdout. @throws UsageError if the engine cannot read the lake */
export function printStatements(create: () => readonly Statement[]): void {
  try {
    output.source(renderDdl(create()).trimEnd());
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(error.message);
  }
}
