import type { ConnectionSettings } from '../../core/settings.js';
import {
  ATHENA_STATEMENT_BYTES,
  clashingResources,
  clashingTables,
  renderDdl,
  type Statement,
  tooLongStatements,
} from '../../sql/ddl/statements.js';
import { EXIT, type ExitCode, UsageError, worstExitCode } from '../shared/choose-exit-code.js';
import { isSeveral } from '../shared/command-options.js';
import {
  chooseConnections,
  connectionLines,
  onConnections,
  readSettings,
  summariesOf,
  totalLine,
} from '../shared/each-connection.js';
import { readDay } from '../shared/open-lake.js';
import { count, counted, output } from '../shared/output.js';
import {
  type ConnectionDdl,
  csvStatements,
  type DdlCommandOptions,
  type DdlScope,
  prefixedView,
} from './ddl-csv.js';

/** `worktrack ddl`: prints only statements and comments on stdout. */
export async function runDdl(options: DdlCommandOptions): Promise<ExitCode> {
  const dt = readDay(options.dt);
  const chosen = chooseConnections(readSettings(options), options);
  const isPrefixed = isSeveral(options);
  checkNames(
    chosen.flatMap((connection) =>
      connection.resources
        .filter(({ name }) => options.resource === undefined || options.resource.includes(name))
        .map(({ name }) => (isPrefixed ? prefixedView(connection.name, name) : name)),
    ),
    options,
  );
  const read = (connection: ConnectionSettings, timeoutMs?: number) =>
    statementsOf(connection, options, { dt, timeoutMs, isPrefixed });
  const print = (comments: string, statements: readonly Statement[]): void =>
    output.source(`${comments}${renderDdl(statements, options)}`.trimEnd());
  return onConnections(chosen, read, options, {
    one({ statements }) {
      print('', statements);
      printNotes(statements, options);
      return EXIT.done;
    },
    several(ended) {
      const summaries = summariesOf(ended, ({ resources }) => {
        const detail = counted(resources, 'resource');
        return { code: EXIT.done, problem: false, state: 'printed', detail, lines: [] };
      });
      const isShown = options.failing !== true;
      const statements = isShown ? ended.flatMap(({ result }) => result?.statements ?? []) : [];
      // A message can have several lines, which would end a comment.
      const comments = connectionLines(summaries, options).map((line) => line.replace(LINE_ENDS, ' '));
      const lines = comments.map((line) => `-- ${line}`.trimEnd());
      print(`${lines.join('\n')}\n\n`, statements);
      output.note(totalLine(summaries));
      if (isShown) printNotes(statements, options);
      return worstExitCode(summaries.map(({ code }) => code));
    },
  });
}

/** Loads only what the statements need. */
async function statementsOf(
  connection: ConnectionSettings,
  options: DdlCommandOptions,
  scope: DdlScope,
): Promise<ConnectionDdl> {
  if (options.delta === true)
    return (await import('./ddl-delta.js')).tableStatements(connection, options, scope);
  return csvStatements(connection, options, scope);
}

/** Says why `--setup` adds no statement, and how long the printed statements stay valid. */
function printNotes(
  statements: readonly Statement[],
  { setup, dialect, delta, dt }: DdlCommandOptions,
): void {
  if (setup === true && !statements.some(({ kind }) => kind === 'setup'))
    output.note(`--setup adds nothing: ${dialect} needs no statement to connect to this lake.`);
  for (const first of tooLongStatements(dialect, statements))
    output.note(
      `The statement that begins with \`${first}\` is longer than the ${count(ATHENA_STATEMENT_BYTES)} bytes that Athena accepts. Leave out ` +
        'columns with `columns.exclude`, or read a Delta table: `worktrack ddl --delta --dialect athena`.',
    );
  if (delta === true)
    output.note('Run these statements once. A registered table follows each published run.');
  else if (dt === undefined && dialect === 'duckdb')
    output.note(
      'Start each session with these statements, such as with `duckdb -init FILE`, and all views follow each published run.',
    );
  else if (dt === undefined)
    output.note(
      'The views named for a resource, such as tasks, read the run that is the last one now. Print them again after ' +
        'each export. Those of the change logs, such as tasks_changes, stay current.',
    );
}

const LINE_ENDS = /[\p{Cc}\u2028\u2029]/gu;

/** A CSV resource has several views, a Delta table has one name. */
function checkNames(names: readonly string[], { delta }: DdlCommandOptions): void {
  const clash = delta === true ? clashingTables(names) : clashingResources(names);
  if (clash === null) return;
  const what = delta === true ? 'tables' : 'views';
  throw new UsageError(
    `the ${what} of ${clash.join(' and ')} have the same names; print them one at a time with --resource`,
  );
}
