/**
 * Runs the examples in a clone: `npm run examples`. Starts a simulated service, a Temporal server and the worker of
 * `embed-plugin`, with a lake in a temporary folder, and runs examples in turn.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { resolveServer, startTemporalDevServer } from '../dist/src/servers/index.js';
import { DEMO_KEY, startSimulator } from '../dist/src/simulator/index.js';

const examples = dirname(fileURLToPath(import.meta.url));
const root = dirname(examples);
const folder = mkdtempSync(join(tmpdir(), 'worktrack-examples-'));
const taskQueue = 'my-application';

/** The examples import the package by its name, and share the clone's copy of the SDK. */
function linkPackage() {
  const link = join(root, 'node_modules/temporal-worktrack');
  if (!existsSync(link)) symlinkSync(root, link, 'junction');
}

function compile(project) {
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project], {
    cwd: examples,
    stdio: 'inherit',
  });
}

/** Asynchronous, because the simulated service answers in this process. */
async function run(script, args, env) {
  const stdio = ['ignore', 'inherit', 'ignore'];
  const [code] = await once(
    spawn(process.execPath, [script, ...args], { cwd: examples, env, stdio }),
    'exit',
  );
  if (code !== 0) throw new Error(`${script} ended with exit code ${code}`);
}

const CONFIG = (url) => `connections:
  acme:
    baseUrl: ${url}
    apiKey: { env: WORKTRACK_API_KEY }
    lake: { url: "file://${folder}/lake" }
    resources: [projects, tasks, time-entries]
    onPublished: { workflow: loadWarehouse, taskQueue: ${taskQueue} }
`;

/** A list may show only records of the last months. */
const TODAY = new Date().toISOString().slice(0, 10);
const FILE = `description,durationSeconds:integer,startedAt
Planning,3600,${TODAY}T08:00:00Z
Review,1800,${TODAY}T10:00:00Z
`;

linkPackage();
compile('.');
compile('commonjs');
const stops = [];
try {
  const simulator = await startSimulator({ counts: { projects: 12, tasks: 30, 'time-entries': 5 } });
  stops.push(() => simulator.close());
  const { path: executable } = await resolveServer('temporal');
  const temporal = await startTemporalDevServer({ executable, headless: true });
  stops.push(() => temporal.stop());
  const config = join(folder, 'worktrack.yaml');
  writeFileSync(config, CONFIG(simulator.url));
  writeFileSync(join(folder, 'november.csv'), FILE);
  const env = {
    ...process.env,
    TEMPORAL_ADDRESS: temporal.address,
    WORKTRACK_CONFIG: config,
    WORKTRACK_API_KEY: DEMO_KEY,
    TASK_QUEUE: taskQueue,
    CONNECTION: 'acme',
  };
  const worker = spawn(process.execPath, ['dist/embed-plugin/worker.js'], {
    cwd: examples,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(worker, 'exit');
  stops.push(async () => {
    worker.kill('SIGTERM');
    await ended;
  });

  for (const [script, ...args] of [
    ['dist/embed-plugin/export.js'],
    ['dist/export-from-workflow/start.js'],
    ['dist/write-back-from-app/main.js', join(folder, 'november.csv')],
    ['dist/write-back-from-rows/main.js', '3'],
    ['dist/commonjs/main.cjs'],
  ]) {
    console.log(`\n$ node ${[script, ...args].join(' ')}`);
    await run(script, args, env);
  }
  console.log('\nAll examples have run.');
} finally {
  for (const stop of stops.reverse()) await stop();
  rmSync(folder, { recursive: true, force: true });
}
