import type { Command } from 'commander';

/** Common uses, shown below each command's help. A test checks them against the commands. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  worker: ['', '--log-format json --health 8081 --metrics 127.0.0.1:9464'],
  export: ['', '--resource tasks --full', '--local', '--all --timeout 2h', '--no-wait'],
  cancel: ['worktrack/acme/export/20261121T020000Z-1a2b3c4d'],
  backfill: ['--resource tasks --since 2026-08-01', '--resource projects --reconcile'],
  status: ['', '--json', '--failing'],
  history: ['--resource tasks --limit 30', '--all --failing'],
  verify: ['', '--resource tasks', '--all'],
  report: ['--resource tasks --open', '--all --out report.html'],
  rollback: ['--resource tasks --to 20261121T020000Z-1a2b3c4d'],
  purge: [
    '--resource tasks --key 01KM0000000000000000000000',
    '--resource tasks --key 01KM0000000000000000000000 --dry-run',
  ],
  ddl: ['--dialect athena', '--resource tasks --dt 2026-11-21'],
  dbt: ['', '--adapter athena --dir warehouse'],
  cat: ['tasks --limit 5', 'tasks --dt 2026-11-21 --json'],
  replay: ['--from-server', 'history.json'],
  'write-back': [
    'time-entries november.csv --dry-run',
    'calendar-entries s3://company-lake/in/holidays.json',
  ],
  'write-back receipts': ['3b860e3713d2 --rejected'],
  'schedule apply': ['', '--all'],
  'schedule describe': [''],
  'schedule trigger': [''],
  'schedule pause': ['--note "audit"'],
  'schedule resume': [''],
  'schedule delete': [''],
  notify: ['--test', '--test --all --event stale'],
  webhook: ['', '--listen 127.0.0.1:8080'],
  doctor: ['', '--connection acme --json'],
  init: ['', '--base-url https://tracker.example.com --lake file:///srv/lake'],
  'config check': ['--config worktrack.yaml'],
  'config schema': ['> worktrack.schema.json'],
  demo: ['', '--keep', '--dir demo --rows 20000'],
  simulator: ['--time-entries 20000'],
};

/** Adds the examples to the help of each command below `parent`. */
export function addExamples(parent: Command, prefix = ''): void {
  for (const command of parent.commands) {
    const name = `${prefix}${command.name()}`;
    const lines = EXAMPLES[name]?.map((rest) => `  worktrack ${name} ${rest}`.trimEnd());
    if (lines !== undefined)
      command.addHelpText('after', `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${lines.join('\n')}`);
    addExamples(command, `${name} `);
  }
}
