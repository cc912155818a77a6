import { type Command, Option } from 'commander';
import { type OnEnd, optionsOf } from './add-command.js';

export function addWriteBackCommand(program: Command, onEnd: OnEnd): void {
  const writeBack = program
    .command('write-back')
    .description('write the rows of a file to the service, each exactly once, with receipts')
    .usage('[options] <resource> <file>')
    .argument('<resource>', 'time-entries (creates) or calendar-entries (upserts)')
    .argument('<file>', 'CSV, JSON or NDJSON: a path, a file:// or s3:// URL, or - for stdin')
    .option('--dry-run', 'show the requests without sending them')
    .option('--key-column <name>', 'column that identifies a row (default: the content of the row)')
    .option(
      '--batch-id <id>',
      'batch id (default: the SHA-256 of resource and content, so that the same file is the same batch)',
    )
    .addOption(
      new Option('--format <format>', 'input format (default: the file extension)').choices([
        'csv',
        'json',
        'ndjson',
      ]),
    )
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
      "format of the dates in a CSV, such as 'dd.MM.yyyy HH:mm'; they are sent in ISO 8601 (repeatable)",
      repeated,
    )
    .option('--timezone <zone>', 'time zone of these dates, such as Europe/Berlin')
    .option('--drop-column <name>', 'column that is not sent (repeatable)', repeated)
    .option('--text-column <name>', 'column that is text, whatever is published (repeatable)', repeated)
    .addOption(
      new Option(
        '--unknown <what>',
        'what to do with rows that may have been sent more than writeBack.unknownAfter ago',
      ).choices(['resend', 'skip']),
    )
    .option('--again', 'write rows again that an earlier batch has written')
    .option(
      '--skip-written',
      'send only rows that no earlier batch has written (default with --key-column; otherwise such rows are an error)',
    )
    .option('--no-read-back', 'do not start an incremental run of the resource afterwards')
    .option('--json', 'print one JSON object')
    .action(async (resource: string, file: string, _: object, command: Command) => {
      const { runWriteBack } = await import('../write-back/write-back.js');
      onEnd(await runWriteBack(resource, file, optionsOf(command)));
    });

  const receipts = writeBack.command('receipts');
  receipts
    // The options of the command above are not those of this one.
    .configureHelp({ ...receipts.configureHelp(), visibleGlobalOptions: () => [...program.options] })
    .description('print the receipts of a batch, one line for each row')
    .argument('<batch>', 'batch id, or its first digits')
    .option('--rejected', 'only rows that were rejected or are unknown')
    .option('--json', 'print one JSON object')
    .action(async (batch: string, _: object, command: Command) => {
      const { runReceipts } = await import('../write-back/receipts.js');
      onEnd(await runReceipts(batch, optionsOf(command)));
    });
}

function repeated(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
