import type { WriteBackResult } from '../../core/contract/write-back.js';
import { collect, type WorktrackCommand } from '../command.js';

const SAME_ORGANIZATION =
  'continue the batch with a new API key whose organization could not be checked: it is the same one';

/** What a command says of a batch besides its result: its refusals and what to do. */
export async function batchDiagnostics(result: WriteBackResult): Promise<string[]> {
  return (await import('./batch-lines.js')).batchDiagnostics(result);
}

/** Declares `write-back` and the commands below it. The module of a command is loaded when it runs. */
export function declareWriteBack(program: WorktrackCommand): void {
  const writeBack = program
    .command('write-back')
    .description('write the rows of a file to the service, none twice, with a receipt for each')
    .usage('[options] <resource> <file>')
    .argument('<resource>', 'time-entries (creates) or calendar-entries (upserts)')
    .argument(
      '<file>',
      'CSV, JSON, NDJSON or a workbook (.xlsx): a path, a file:// or s3:// URL, or - for stdin',
    )
    .option('--dry-run', 'show the requests without sending them')
    .option('--diff', 'with --dry-run, read the resource and show the cells that would change')
    .option('--limit <n>', 'with --diff, show at most this many cells (default: 20)')
    .option('--skip-unchanged', 'read the resource first, and leave out upserts that would change nothing')
    .option('--key-column <name>', 'column that identifies a row (default: the content of the row)')
    .option(
      '--batch-id <id>',
      'batch id (default: a hash of resource and content, so that the same file is the same batch)',
    )
    .choice('--format <format>', 'input format (default: the file extension)', [
      ...['csv', 'json', 'ndjson', 'xlsx'],
    ])
    .option('--sheet <name>', 'name or number of the sheet of a workbook (default: the only one with cells)')
    .option(
      '--delimiter <character>',
      'delimiter of a CSV: "," ";" "|" or tab (default: found in the header)',
    )
    .option(
      '--encoding <name>',
      'encoding, such as windows-1252 (default: from the byte order mark, otherwise UTF-8)',
    )
    .option('--decimal-comma', 'the numbers of a CSV have a decimal comma: 1.234,50')
    .option(
      '--date-format <format>',
      "format of the dates in a CSV, such as 'dd.MM.yyyy HH:mm' (repeatable)",
      collect,
    )
    .option('--timezone <zone>', 'time zone of these dates, and of those of a sheet, such as Europe/Berlin')
    .option(
      '--map <header=field>',
      'another name for a column, such as Beschreibung=description (repeatable)',
      collect,
    )
    .option('--true <word>', 'word for true, such as WAHR (repeatable)', collect)
    .option('--false <word>', 'word for false, such as FALSCH (repeatable)', collect)
    .option(
      '--unit <field=unit>',
      'unit of the cells: durationSeconds=h sends hours as seconds (ms, s, min, h, d; repeatable)',
      collect,
    )
    .option('--drop-column <name>', 'column that is not sent (repeatable)', collect)
    .option('--text-column <name>', 'column that is always text (repeatable)', collect)
    .option('--save-input', 'keep these options in the configuration, for the next file')
    .choice('--unknown <what>', 'rows that may have been sent more than writeBack.unknownAfter ago', [
      'resend',
      'skip',
    ])
    .option(
      '--last-wins',
      'of calendar entries with the same source and sourceKey, send the last one (default: an error)',
    )
    .option('--again', 'also send rows that an earlier batch has written')
    .option('--skip-written', 'leave such rows out (default with --key-column; otherwise an error)')
    .option(
      '--same-system',
      'count rows that were sent to another base URL as written: it is the same system',
    )
    .option('--other-system', 'count rows that were sent to another base URL as new: it is another system')
    .option('--same-organization', SAME_ORGANIZATION)
    .option('--no-read-back', 'do not read the resource afterwards')
    .json()
    .examples('time-entries november.csv --dry-run', 'calendar-entries s3://company-lake/in/holidays.json')
    .runs(async () => (await import('./write-back-command.js')).runWriteBack)
    // The commands below it have options of the same names (`WorktrackCommand.parseOptions`).
    .enablePositionalOptions();

  /** A command below, on a batch. The options of the command above are not its own. */
  const onBatch = (name: string): WorktrackCommand => {
    const command = writeBack.command(name);
    return command
      .configureHelp({ ...command.configureHelp(), visibleGlobalOptions: () => [...program.options] })
      .argument('<batch>', 'batch id, or its first digits');
  };

  onBatch('receipts')
    .description('print the receipts of a batch, one line for each row')
    .option('--rejected', 'only rows that were rejected or are unknown')
    .option('--csv', 'rejected rows with the cells of the input (NDJSON for JSON), ready to correct and send')
    .json()
    .examples('3b860e3713d2 --rejected', '3b860e3713d2 --rejected --csv > corrected.csv')
    .runs(async () => (await import('./receipts-command.js')).runReceipts);

  onBatch('resend')
    .description('send rows of a batch again that are not written, or settle them')
    .option('--rejected', 'the rows that the service has rejected')
    .option('--unknown', 'the rows that this batch may or may not have written')
    .option('--rows <numbers>', 'rows by their numbers in the input, such as 3,7-9')
    .option('--new-key', 'with new idempotency keys; a row whose record exists is written a second time')
    .option('--yes-i-looked', 'the records of the --unknown rows do not exist in the service')
    .option(
      '--reject',
      'send nothing: the rows stay rejected, and unknown to other files if they may have been written',
    )
    .option('--again', 'also send rows that another batch has written meanwhile')
    .option('--same-system', 'count rows that were sent to another base URL as written')
    .option('--other-system', 'count rows that were sent to another base URL as new')
    .option('--same-organization', SAME_ORGANIZATION)
    .option('--no-read-back', 'do not read the resource afterwards')
    .option('--yes', 'do not ask for confirmation on a terminal')
    .json()
    .examples('3b860e3713d2 --rejected', '3b860e3713d2 --rows 3,7-9 --new-key')
    .runs(async () => (await import('./resend-command.js')).runResend);

  onBatch('confirm')
    .description('look for the written rows of a batch in the service')
    .json()
    .examples('3b860e3713d2')
    .runs(async () => (await import('./confirm-command.js')).runConfirm);

  onBatch('undo')
    .description('give the records that a batch has updated their values from before')
    .option('--with-null', 'also set fields to null that were empty before')
    .option('--limit <n>', 'show at most this many cells (default: 20)')
    .option('--same-organization', SAME_ORGANIZATION)
    .option('--no-read-back', 'do not read the resource afterwards')
    .option('--yes', 'do not ask for confirmation on a terminal')
    .json()
    .examples('3b860e3713d2', '3b860e3713d2 --with-null --yes')
    .runs(async () => (await import('./undo-command.js')).runUndo);
}
