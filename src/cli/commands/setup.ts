import type { Command } from 'commander';
import type { GlobalOptions } from '../options.js';
import { adder, type OnEnd } from './add.js';

/** Commands for what gets one going: configuration, checks, and the made-up service. */
export function addSetupCommands(program: Command, onEnd: OnEnd): void {
  const add = adder(onEnd);
  add<GlobalOptions & { json?: boolean }>(
    program,
    'doctor',
    'try everything that a run relies on, and say what to mend',
    async (options) => (await import('../doctor.js')).runDoctor(options),
  ).option('--json', 'print one JSON object');

  add<import('../init.js').InitOptions>(
    program,
    'init',
    'write a first configuration, asking for what it must say',
    async (options) => (await import('../init.js')).runInit(options),
  )
    .option('--out <file>', 'the file to write (default: --config, else worktrack.yaml)')
    .option('--base-url <url>', "the service's address, such as https://tracker.example.com")
    .option('--lake <url>', 's3://bucket/prefix or file:///absolute/folder')
    .option('--endpoint <url>', 'of an S3-compatible store other than AWS')
    .option('--region <name>', "the bucket's region")
    .option('--api-key-env <name>', 'variable that will hold the API key (default: WORKTRACK_API_KEY)')
    .option('--resources <names>', 'what to mirror, with commas (default: the four of the service)')
    .option('--force', 'overwrite a file that is there');

  const config = program.command('config').description('the configuration file');
  add(config, 'check', 'read it as a worker would, and say what is wrong', async (options: GlobalOptions) =>
    (await import('../config.js')).runConfigCheck(options),
  );
  add(config, 'schema', 'print its JSON Schema, for editors', async () =>
    (await import('../config.js')).runConfigSchema(),
  );

  add<import('../demo/index.js').DemoOptions>(
    program,
    'demo',
    'the whole thing on this machine, with nothing configured',
    async (options) => (await import('../demo/index.js')).runDemo(options),
  )
    .option('--dir <folder>', 'where its files go (default: .worktrack/demo)')
    .option('--rows <n>', 'time entries in the made-up service (default: 5000)');

  program
    .command('simulator')
    .description('run a made-up service on this machine; prints its address as JSON')
    .argument(
      '[options...]',
      '--port and --seed; --projects, --tasks, --time-entries and the like with a number of records',
    )
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (_words: string[], _options: object, command: Command) => {
      const { runSimulator } = await import('../simulator.js');
      onEnd(await runSimulator(command.args));
    });
}
