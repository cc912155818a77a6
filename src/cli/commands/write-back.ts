import { type Command, Option } from 'commander';
import type { OnEnd } from './add.js';

export function addWriteBackCommand(program: Command, onEnd: OnEnd): void {
  program
    .command('write-back')
    .description('write the rows of a file to the service, each exactly once, with a receipt for each')
    .argument('<resource>', 'time-entries (creates) or calendar-entries (upserts)')
    .argument('<file>', 'CSV, JSON or NDJSON: a path, a file:// or s3:// URL, or - for standard input')
    .option('--dry-run', 'show the requests and send none')
    .option('--key-column <name>', 'the column that names a row (default: its content does)')
    .option('--batch-id <id>', 'default: the SHA-256 of resource and content, so that a file is its batch')
    .addOption(
      new Option('--format <format>', 'default: what the name tells').choices(['csv', 'json', 'ndjson']),
    )
    .addOption(
      new Option(
        '--unknown <what>',
        'what to do with rows that may have been written, longer ago than writeBack.unknownAfter',
      ).choices(['resend', 'skip']),
    )
    .option('--no-read-back', 'do not ask for an increment of the resource afterwards')
    .option('--json', 'print one JSON object')
    .action(async (resource: string, file: string, _: object, command: Command) => {
      const { runWriteBack } = await import('../write-back.js');
      onEnd(await runWriteBack(resource, file, command.optsWithGlobals()));
    });
}
