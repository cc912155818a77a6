import { type Command, Option } from 'commander';
import { type OnEnd, optionsOf } from './add-command.js';

export function addWriteBackCommand(program: Command, onEnd: OnEnd): void {
  program
    .command('write-back')
    .description('write the rows of a file to the service, each exactly once, with receipts')
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
    .addOption(
      new Option(
        '--unknown <what>',
        'what to do with rows that may have been sent more than writeBack.unknownAfter ago',
      ).choices(['resend', 'skip']),
    )
    .option('--no-read-back', 'do not start an incremental run of the resource afterwards')
    .option('--json', 'print one JSON object')
    .action(async (resource: string, file: string, _: object, command: Command) => {
      const { runWriteBack } = await import('../write-back/write-back.js');
      onEnd(await runWriteBack(resource, file, optionsOf(command)));
    });
}
