// Many connections of small resources: a first run and runs without changes, on a default Temporal dev server (Linux).
//
//   npm run bench:fleet [-- --connections 100 --resources 7 --rows 50 --workers 1,2 --nights 2 --changes 0 --jitter 0]
//     [--cached 100] [--database memory]
//
// All exports of a run start together, as Schedules without jitter start them. With `--jitter`, those of a run without changes
// start evenly over that many seconds. Time is from the first start to the last end. CPU is that of the workers and of the
// Temporal server; events are those of the exports and of the mirrors. The service and the S3 server run on the same cores.
import { execFile } from 'node:child_process';
import { stat, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readOptions } from './options.mjs';
import { newEvents, setUp, startService, startWorker, usage } from './stage.mjs';

const options = readOptions({
  connections: 100,
  resources: 7,
  rows: 50,
  workers: [1, 2],
  nights: 2,
  /** Changed rows of each resource before each run. */
  changes: 0,
  /** The exports of a run without changes start within this time, s. */
  jitter: 0,
  /** Workflows that a worker caches; default: that of the worker. */
  cached: undefined,
  /** Of the Temporal server: `memory`, `file`, or `wal` (a file with a write-ahead log). */
  database: 'memory',
});
const { connections, rows, changes } = options;
const jitterMs = options.jitter * 1000;
const cached = options.cached === undefined ? [] : ['--max-cached-workflows', options.cached];
const RESOURCES = ['projects', 'tasks', 'time-entries', 'calendar-entries', 'members', 'clients', 'tags'];
const resources = RESOURCES.slice(0, options.resources);
/** Exports that are started, or waited for, at the same time. */
const AT_ONCE = 50;
const OVERLAP_S = 1;

for (const workers of options.workers) await fleet(workers);
process.exit(0);

async function fleet(workers) {
  const stage = await setUp({ database: options.database });
  const service = await startService(Object.fromEntries(resources.map((name) => [name, rows])));
  const name = `fleet-${workers}`;
  const file = join(stage.folder, `${name}.yaml`);
  await writeFile(file, configuration(stage, service));
  console.log(
    `\n${connections} connections, ${resources.length} resources of ${rows} rows each, ${workers} worker${workers === 1 ? '' : 's'}, ` +
      `cache: ${options.cached ?? 'default'}, jitter of quiet nights: ${options.jitter} s, ` +
      `Temporal's state: ${options.database}, Node ${process.version}; load before: ${loadavg()[0].toFixed(1)}`,
  );
  const started = [];
  for (let n = 0; n < workers; n++)
    started.push(await startWorker(stage, { file, name }, ['--log-level', 'warn', ...cached]));
  try {
    await night(stage, name, started, 'first night');
    for (let n = 1; n <= options.nights; n++) {
      for (const resource of changes > 0 ? resources : []) await service.touch(resource, changes, 'spread');
      // Longer than the overlap, as days are.
      await delay(3 * OVERLAP_S * 1000);
      await night(stage, name, started, `quiet night ${n}`, jitterMs);
    }
    await delay(61_000);
    for (const { pid } of started) {
      const { rssMiB } = await usage(pid);
      say(
        `a minute later: ${rssMiB.toFixed(0)} MiB, ${await sockets(pid, stage)} sockets to the store and the service`,
      );
    }
  } finally {
    for (const worker of started) await worker.stop();
    service.stop();
    await stage.stop();
  }
}

function configuration({ s3 }, service) {
  const one = (_, n) => `  c${n}:
    baseUrl: ${service.url}
    apiKey: { env: BENCH_KEY }
    lake: { url: "s3://lake/c${n}", endpoint: "${s3.endpoint}", region: ${s3.region}, forcePathStyle: true }
    resources: [${resources.join(', ')}]
    sync: { overlap: ${OVERLAP_S}s }
`;
  return `connections:\n${Array.from({ length: connections }, one).join('')}`;
}

async function night(stage, taskQueue, workers, title, spreadMs = 0) {
  const pids = [...workers.map(({ pid }) => pid), stage.temporalPid];
  const s3Before = await stage.s3Requests();
  const before = await Promise.all(pids.map(usage));
  const load = loadavg()[0];
  const began = performance.now();
  const names = Array.from({ length: connections }, (_, n) => `c${n}`);
  const handles = await inTurns(names, (connection, n) =>
    stage.client.workflow.start('exportWorkflow', {
      workflowId: `${connection}-${title}`,
      taskQueue,
      args: [{ connection }],
      ...(spreadMs === 0 ? {} : { startDelay: Math.ceil((n / connections) * spreadMs) }),
    }),
  );
  let peakMiB = 0;
  const watch = setInterval(async () => {
    const sizes = await Promise.all(workers.map(({ pid }) => usage(pid)));
    peakMiB = Math.max(peakMiB, ...sizes.map((one) => one.rssMiB));
  }, 500);
  await inTurns(handles, (handle) => handle.result());
  const seconds = (performance.now() - began) / 1000;
  clearInterval(watch);
  const after = await Promise.all(pids.map(usage));
  const cpu = after.map((one, at) => one.cpu - before[at].cpu);
  const workerCpu = cpu.slice(0, -1).reduce((all, one) => all + one, 0);
  const s3Requests = (await stage.s3Requests()) - s3Before;
  const exported = await events(
    stage,
    handles.map(({ workflowId }) => workflowId),
  );
  const mirrors = names.flatMap((one) => resources.map((resource) => `worktrack/${one}/mirror/${resource}`));
  const mirrored = await events(stage, mirrors);
  const runs = connections * resources.length;
  const per = (value, digits = 3) => (value / runs).toFixed(digits);
  say(
    `${title}: ${runs} mirrors in ${seconds.toFixed(1)} s, ${(runs / seconds).toFixed(1)} mirrors/s (load ${load.toFixed(1)})`,
  );
  say(`  per mirror: ${per(workerCpu)} CPU s of the workers, ${per(cpu.at(-1))} of the Temporal server`);
  say(
    `  per mirror: ${per(exported + mirrored, 1)} events (${per(mirrored, 1)} of the mirror, ${per(exported, 1)} of the export), ` +
      `${per(s3Requests, 1)} S3 requests`,
  );
  const database = await databaseMiB(stage);
  say(
    `  memory: at most ${peakMiB.toFixed(0)} MiB of a worker, ${after.at(-1).rssMiB.toFixed(0)} MiB of the Temporal server` +
      (database > 0 ? `; its database: ${database.toFixed(0)} MiB` : ''),
  );
}

/** 0 if it is in memory. */
async function databaseMiB({ dbFile }) {
  const files = ['', '-wal'].map((end) => stat(`${dbFile}${end}`).catch(() => ({ size: 0 })));
  return (await Promise.all(files)).reduce((sum, { size }) => sum + size, 0) / 1024 / 1024;
}

async function events(stage, workflowIds) {
  const lengths = await inTurns(workflowIds, (id) => newEvents(stage, id));
  return lengths.reduce((all, one) => all + one, 0);
}

async function inTurns(items, work) {
  const results = [];
  for (let from = 0; from < items.length; from += AT_ONCE)
    results.push(
      ...(await Promise.all(items.slice(from, from + AT_ONCE).map((item, at) => work(item, from + at)))),
    );
  return results;
}

/** Connections of a process that are neither to Temporal nor its own health port. */
async function sockets(pid, { temporalAddress }) {
  const { stdout } = await promisify(execFile)('ss', ['-Htnp', 'state', 'established']).catch(() => ({
    stdout: null,
  }));
  if (stdout === null) return 'unknown number of';
  return stdout.split('\n').filter((line) => line.includes(`pid=${pid},`) && !line.includes(temporalAddress))
    .length;
}

function say(text) {
  console.log(`  ${text}`);
}
