// What benchmarks run on: a Temporal server, an S3 server and a service in separate processes, and workers whose time,
// CPU and memory are read from /proc (Linux).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = new URL('../../dist/src/', import.meta.url);
const { ensureBucket, resolveServer, startTemporalDevServer, startVersitygw } = await import(
  new URL('servers/index.js', dist)
);
const { followWriteBack, loadSettings, selectConnection, stageWriteBack, startWriteBack } = await import(
  new URL('index.js', dist)
);
const { connectTemporal } = await import(new URL('temporal/client/connect.js', dist));

/** CPU seconds are counted in ticks of this many a second. */
const TICKS = 100;
const KEY = 'bench';
/** Polls per second and queue of a dev server without options. They override those that `startTemporalDevServer` sets. */
const DEFAULT_PACE = ['transfer', 'timer', 'visibility'].flatMap((queue) => [
  '--dynamic-config-value',
  `history.${queue}ProcessorMaxPollRPS=20`,
]);
/** Rows that the simulator makes up unless told not to. */
const RESOURCES = ['projects', 'tasks', 'time-entries', 'calendar-entries', 'members', 'clients', 'tags'];

/** How the dev server keeps its state: in memory, as it does by default, or in a file, with SQLite's journal or a write-ahead log. */
const DATABASES = {
  memory: [],
  file: [],
  wal: ['--sqlite-pragma', 'journal_mode=wal', '--sqlite-pragma', 'synchronous=normal'],
};

/** A default dev server, and an S3 server. */
export async function setUp({ database = 'memory' } = {}) {
  const pragmas = DATABASES[database];
  if (pragmas === undefined) throw new Error(`--database is ${Object.keys(DATABASES).join(', ')}`);
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-bench-'));
  const dbFile = join(folder, 'temporal.db');
  const [temporal, s3] = await Promise.all([
    startTemporalDevServer({
      executable: (await resolveServer('temporal')).path,
      headless: true,
      logFile: join(folder, 'temporal.log'),
      extraArgs: [...DEFAULT_PACE, ...pragmas],
      ...(database === 'memory' ? {} : { dbFile }),
    }),
    startVersitygw({
      executable: (await resolveServer('versitygw')).path,
      dataDir: join(folder, 's3'),
      iamDir: join(folder, 'iam'),
      accessLog: join(folder, 's3.log'),
    }),
  ]);
  await ensureBucket(s3, 'lake');
  const connected = await connectTemporal({ address: temporal.address });
  const env = {
    ...process.env,
    BENCH_KEY: KEY,
    TEMPORAL_ADDRESS: temporal.address,
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
    // As in the image and the systemd unit.
    MALLOC_ARENA_MAX: '2',
    NODE_OPTIONS: '--max-old-space-size=1024',
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
  };
  return {
    folder,
    s3,
    ...connected,
    env,
    temporalPid: temporal.pid,
    temporalAddress: temporal.address,
    dbFile,
    /** Workflows whose events were counted: id to run id and length. */
    seen: new Map(),
    /** Requests that the S3 server has answered so far. */
    async s3Requests() {
      const log = await readFile(join(folder, 's3.log'), 'latin1').catch(() => '');
      return log.split('\n').length - 1;
    },
    async stop() {
      await connected.close();
      await Promise.all([temporal.kill(), s3.kill()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A service in a separate process with the given number of plain rows per resource. */
export async function startService(counts, { order = 'id', data = 'generic', gzip = 'off' } = {}) {
  const flags = RESOURCES.flatMap((name) => [`--${name}`, String(counts[name] ?? 0)]);
  const child = spawn(
    process.execPath,
    [
      '--max-old-space-size=18000',
      fileURLToPath(new URL('../support/simulator-process.mjs', import.meta.url)),
      ...['--port', '0', '--plain', '--gzip', gzip, `--order=${order}`, '--data', data, ...flags],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, WORKTRACK_SIMULATOR_KEY: KEY } },
  );
  const [line] = await once(child.stdout, 'data');
  const { url, controlUrl } = JSON.parse(String(line));
  const control = async (method, path, body) => {
    const answer = await fetch(`${controlUrl}/${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: the service answered ${answer.status}`);
    return answer.json().catch(() => null);
  };
  return {
    url,
    touch: (resource, count, pick) => control('POST', `records/${resource}`, { touch: { count, pick } }),
    latency: (ms) => control('POST', 'faults', { match: {}, fault: { kind: 'latency', ms } }),
    requests: async () => (await control('GET', 'stats')).requests,
    stop: () => child.kill('SIGKILL'),
  };
}

let configurations = 0;

/** A connection with a new lake. */
export async function configure({ folder, s3 }, url, { resources, yaml = '' }) {
  const name = `bench${configurations++}`;
  const file = join(folder, `${name}.yaml`);
  await writeFile(
    file,
    `connections:
  ${name}:
    baseUrl: ${url}
    apiKey: { env: BENCH_KEY }
    lake: { url: "s3://lake/${name}", endpoint: "${s3.endpoint}", region: ${s3.region}, forcePathStyle: true }
    resources: [${resources.join(', ')}]
${yaml}`,
  );
  return { name, file };
}

/** A connection whose worker has exported its first resource, which is small. */
export async function warmConnection(stage, service, { resources, yaml }) {
  const connection = await configure(stage, service.url, { resources, yaml });
  const worker = await startWorker(stage, connection);
  await measureExport(stage, connection, [worker.pid], { resources: resources.slice(0, 1) });
  return { ...connection, worker };
}

/** A worker in a separate process. */
export async function startWorker(stage, { file, name }, more = []) {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('cli/main.js', dist)), 'worker', '--config', file, '--task-queue', name, ...more],
    { env: stage.env, stdio: ['ignore', 'ignore', process.env.BENCH_VERBOSE ? 'inherit' : 'ignore'] },
  );
  return {
    pid: child.pid,
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** Events of a workflow since the last call, in all runs as which it has continued. */
export async function newEvents({ client, seen }, workflowId) {
  const describe = (runId) => client.workflow.getHandle(workflowId, runId).describe();
  const before = seen.get(workflowId) ?? { runId: '', historyLength: 0 };
  let { runId, historyLength: events } = await describe();
  seen.set(workflowId, { runId, historyLength: events });
  while (runId !== before.runId) {
    runId = await previousRun(client, workflowId, runId);
    if (runId === '') break;
    events += (await describe(runId)).historyLength;
  }
  return events - before.historyLength;
}

/** The run that has continued as this one; empty for the first run. */
async function previousRun(client, workflowId, runId) {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: 1,
  });
  return history.events[0].workflowExecutionStartedEventAttributes.continuedExecutionRunId ?? '';
}

/** Runs an export to its end; returns its report and what it cost. */
export async function measureExport(stage, { name, taskQueue = name }, pids, input = {}) {
  const { client, s3Requests } = stage;
  const s3Before = await s3Requests();
  const before = await Promise.all(pids.map(usage));
  const started = performance.now();
  const handle = await client.workflow.start('exportWorkflow', {
    workflowId: `${name}-${started}`,
    taskQueue,
    args: [{ connection: name, ...input }],
  });
  const result = await handle.result();
  const seconds = (performance.now() - started) / 1000;
  const after = await Promise.all(pids.map(usage));
  const sum = (field) => after.reduce((all, one, at) => all + one[field] - before[at][field], 0);
  const mirrors = result.runs.map(({ resource }) => `worktrack/${name}/mirror/${resource}`);
  const events = await Promise.all([handle.workflowId, ...mirrors].map((id) => newEvents(stage, id)));
  return {
    seconds,
    cpu: sum('cpu'),
    received: sum('received'),
    sent: sum('sent'),
    peakMiB: Math.max(...after.map((one) => one.peakMiB)),
    /** Those of the export's own workflow, and what it added to the mirrors'. */
    newEvents: events.reduce((all, one) => all + one),
    s3Requests: (await s3Requests()) - s3Before,
    runs: result.runs,
    rows: result.runs.reduce((all, run) => all + run.rows, 0),
  };
}

/** Writes a file back to its end, without the read-back. */
export async function measureWriteBack(stage, { name, file }, { pid }, rows) {
  const settings = loadSettings({ file, env: stage.env, cwd: stage.folder });
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: stage.env.AWS_ACCESS_KEY_ID,
    AWS_SECRET_ACCESS_KEY: stage.env.AWS_SECRET_ACCESS_KEY,
  });
  const before = await usage(pid);
  const started = performance.now();
  const input = await stageWriteBack(selectConnection(settings, name), {
    resource: 'time-entries',
    file: rows,
  });
  const { workflowId } = await startWriteBack(stage, { ...input, readBack: false }, { taskQueue: name });
  const result = await followWriteBack(stage, workflowId, { everyMs: 50 });
  const seconds = (performance.now() - started) / 1000;
  if (result.outcome !== 'written') throw new Error(`the batch ended as ${result.outcome}`);
  const after = await usage(pid);
  return { seconds, cpu: after.cpu - before.cpu, peakMiB: after.peakMiB };
}

/** What a process and its children have used so far: CPU seconds, bytes that it read and wrote, peak resident memory. */
export async function usage(pid) {
  const [stat, status, io] = await Promise.all(
    ['stat', 'status', 'io'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8')),
  );
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // A child that ends meanwhile is counted among the ended ones the next time.
  const children = await Promise.all((await childrenOf(pid)).map((child) => usage(child).catch(() => null)));
  const sum = (field) => children.reduce((all, one) => all + (one?.[field] ?? 0), 0);
  // Of the process, and of its children that have ended.
  const ticks = fields.slice(11, 15).reduce((all, one) => all + Number(one), 0);
  return {
    cpu: ticks / TICKS + sum('cpu'),
    rssMiB: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024 + sum('rssMiB'),
    peakMiB: Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024 + sum('peakMiB'),
    received: Number(/rchar: (\d+)/.exec(io)?.[1]),
    sent: Number(/wchar: (\d+)/.exec(io)?.[1]),
  };
}

async function childrenOf(pid) {
  const threads = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '')),
  );
  return lists
    .join(' ')
    .split(' ')
    .filter((child) => child !== '');
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/**
 * How many times a field of one list is that of the other, round by round: what is compared within a round ran at about the
 * same time, and the machine may be slower in another one.
 */
export function ratiosOf(dividends, divisors, field) {
  const ratios = dividends.map((one, round) => one[field] / divisors[round][field]);
  return { median: median(ratios), min: Math.min(...ratios), max: Math.max(...ratios) };
}

/** The median of one field of several measurements. */
export function medianOf(list, field) {
  return median(list.map((one) => one[field]));
}
