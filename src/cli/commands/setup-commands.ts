import type { Command } from 'commander';
import type { GlobalOptions } from '../shared/command-options.js';
import { commandAdder, type OnEnd, withSeveral } from './add-command.js';

/** Commands for setting up: configuration, checks, the demo and the simulated service. */
export function addSetupCommands(program: Command, onEnd: OnEnd): void {
  const add = commandAdder(onEnd);
  withSeveral(
    add<import('../setup/doctor-command.js').DoctorOptions>(
      program,
      'doctor',
      'check everything a run depends on, and say how to fix problems',
      async (options) => (await import('../setup/doctor-command.js')).runDoctor(options),
      'several',
    ),
  )
    .option('--try-service', 'also try what the API leaves open, and print the settings that follow')
    .option('--json', 'print one JSON object');

  add<import('../setup/init-command.js').InitOptions>(
    program,
    'init',
    'write a first configuration file; asks for missing values',
    async (options) => (await import('../setup/init-command.js')).runInit(options),
  )
    .option('--out <file>', 'file to write (default: --config, or worktrack.yaml)')
    .option('--base-url <url>', 'URL of the service, such as https://tracker.example.com')
    .option('--lake <url>', 'lake URL: s3://bucket/prefix or file:///absolute/folder')
    .option('--endpoint <url>', 'URL of an S3-compatible store other than AWS')
    .option('--region <name>', 'region of the bucket')
    .option('--api-key-env <name>', 'environment variable with the API key (default: WORKTRACK_API_KEY)')
    .option(
      '--resources <names>',
      'resources to mirror, separated by commas (default: projects, tasks, time-entries, calendar-entries)',
    )
    .option('--force', 'overwrite an existing file');

  const config = program.command('config').description('check or describe the configuration file');
  add(
    config,
    'check',
    'read the configuration as a worker would, and report problems',
    async (options: GlobalOptions) => (await import('../setup/config-command.js')).runConfigCheck(options),
  );
  add(config, 'schema', 'print the JSON Schema of the configuration, for editors', async () =>
    (await import('../setup/config-command.js')).runConfigSchema(),
  );

  add<import('../demo/demo-command.js').DemoOptions>(
    program,
    'demo',
    'run everything on this machine without configuration',
    async (options) => (await import('../demo/demo-command.js')).runDemo(options),
  )
    .option('--dir <folder>', 'folder for the demo files (default: .worktrack/demo)')
    .option('--rows <n>', 'time entries in the simulated service (default: 5000)')
    .option('--awkward', 'add quotes, line breaks, large numbers and other awkward values')
    .option('--keep', 'leave the servers running, and print their addresses');

  program
    .command('simulator')
    .description('run a simulated service on this machine; prints its URL as JSON')
    .argument(
      '[options...]',
      '--port and --seed; --projects, --tasks, --time-entries and so on with a number of records; --plain for ordinary data; --odd with a name, or `list`',
    )
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async (_words: string[], _options: object, command: Command) => {
      const { runSimulator } = await import('../demo/demo-service.js');
      onEnd(await runSimulator(command.args));
    });
}
