import type { Command } from 'commander';
import type { OnEnd } from './add.js';

export function addReplayCommand(program: Command, onEnd: OnEnd): void {
  program
    .command('replay')
    .description('replay histories against this build; before an upgrade')
    .argument('[files...]', 'histories as `temporal workflow show --output json` and the UI write them')
    .option('--from-server', 'the histories of our workflows on the server, running ones first')
    .option('--workflow-id <id>', 'only this workflow; with --from-server')
    .option('--limit <n>', 'at most so many histories, with --from-server (default: 100)')
    .option('--json', 'print one JSON object')
    .action(async (files: string[], _options: object, command: Command) => {
      const { runReplay } = await import('../replay.js');
      onEnd(await runReplay(files, command.optsWithGlobals()));
    });
}
