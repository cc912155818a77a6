// What a person waits for: each command from the shell, on a small lake and a default Temporal dev server.
//
//   npm run bench:commands [-- --runs 5 --rows 50 --lake s3,file --cli dist/src/cli/main.js]
//
// Wall seconds include Node's start and all answers of the servers. CPU seconds are those of the command's process.
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { readOptions } from './options.mjs';
import { median, setUp, startService, startWorker } from './stage.mjs';

const options = readOptions({
  runs: 5,
  rows: 50,
  lake: ['s3', 'file'],
  /** Another build to measure, such as that of an installed package. */
  cli: new URL('../../dist/src/cli/main.js', import.meta.url).pathname,
});

/** The least friendly first. */
const COMMANDS = [
  ['export', '--resource', 'projects'],
  ['status'],
  ['history'],
  ['cat', 'tasks'],
  ['ddl'],
  ['config', 'check'],
  ['--help'],
];

const stage = await setUp({ database: 'file' });
const service = await startService({ projects: options.rows, tasks: options.rows });
try {
  for (const lake of options.lake) await measureLake(lake);
} finally {
  service.stop();
  await stage.stop();
}
process.exit(0);

async function measureLake(kind) {
  const name = `commands-${kind}`;
  const file = join(stage.folder, `${name}.yaml`);
  const { endpoint, region } = stage.s3;
  const lake =
    kind === 's3'
      ? `{ url: "s3://lake/${name}", endpoint: "${endpoint}", region: ${region}, forcePathStyle: true }`
      : `{ url: "${pathToFileURL(join(stage.folder, 'lake')).href}" }`;
  await writeFile(
    file,
    `connections:
  ${name}:
    baseUrl: ${service.url}
    apiKey: { env: BENCH_KEY }
    lake: ${lake}
    resources: [projects, tasks]
`,
  );
  const worker = await startWorker(stage, { file, name });
  try {
    const common = ['--config', file, '--task-queue', name];
    await timed(['export', ...common]);
    console.log(
      `\nlake: ${kind}; 2 resources of ${options.rows} rows; ${options.runs} runs; Node ${process.version}; ` +
        `load before: ${loadavg()[0].toFixed(1)}`,
    );
    console.log(`${'command'.padEnd(28)}wall s: min, median, max   CPU s: min, median, max`);
    for (const command of COMMANDS) {
      const args = command[0] === '--help' ? command : [...command, ...common];
      const runs = [];
      for (let n = 0; n < options.runs; n++) runs.push(await timed(args));
      const spread = (field) => {
        const all = runs.map((one) => one[field]);
        return [Math.min(...all), median(all), Math.max(...all)].map((one) => one.toFixed(2)).join('  ');
      };
      console.log(`${command.join(' ').padEnd(28)}${spread('wall').padEnd(27)}${spread('cpu')}`);
    }
  } finally {
    await worker.stop();
  }
}

/** Bash reports milliseconds of the wall clock, and of the user's and the system's time on the CPU. */
async function timed(args) {
  const { stderr } = await promisify(execFile)(
    'bash',
    [
      '-c',
      'TIMEFORMAT="%3R %3U %3S"; time "$@" >/dev/null 2>"$LOG" || cat "$LOG" >&2',
      'bash',
      ...[process.execPath, options.cli, ...args],
    ],
    { env: { ...stage.env, LOG: join(stage.folder, 'stderr.txt') }, cwd: stage.folder },
  );
  const lines = stderr.trim().split('\n');
  if (lines.length !== 1) throw new Error(`worktrack ${args.join(' ')}: ${stderr}`);
  const [wall, user, system] = lines[0].split(' ').map(Number);
  return { wall, cpu: user + system };
}
