// Peak memory of a worker that merges a night's changes into a large snapshot, on real servers.
//
//   npm run build && node test/bench/merge-memory.mjs [rows ...]
//
// Prints, for each number of rows: time and peak resident memory (VmHWM, Linux) after the first full export and
// after an export of 1,000 changed rows, spread over all keys and among the newest.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = new URL('../../dist/src/', import.meta.url);
const { ensureBucket, resolveServer, startTemporalDevServer, startVersitygw } = await import(
  new URL('servers/index.js', dist)
);
const { connectTemporal } = await import(new URL('temporal/connect.js', dist));
const sizes = process.argv.slice(2).map(Number);

for (const rows of sizes.length > 0 ? sizes : [1_000_000]) await measure(rows);
process.exit(0);

async function measure(rows) {
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-bench-'));
  const [temporal, s3] = await Promise.all([
    startTemporalDevServer({
      executable: (await resolveServer('temporal')).path,
      headless: true,
      logFile: join(folder, 'temporal.log'),
    }),
    startVersitygw({
      executable: (await resolveServer('versitygw')).path,
      dataDir: join(folder, 's3'),
      iamDir: join(folder, 'iam'),
    }),
  ]);
  await ensureBucket(s3, 'lake');
  const service = spawn(
    process.execPath,
    [
      '--max-old-space-size=12000',
      fileURLToPath(new URL('simulator/main.js', dist)),
      '--port',
      '0',
      '--plain',
      '--gzip',
      'off',
      '--projects',
      '0',
      '--tasks',
      '0',
      '--calendar-entries',
      '0',
      '--members',
      '0',
      '--clients',
      '0',
      '--tags',
      '0',
      '--time-entries',
      String(rows),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, WORKTRACK_SIMULATOR_KEY: 'bench' } },
  );
  const [line] = await once(service.stdout, 'data');
  const { url } = JSON.parse(String(line));
  const config = join(folder, 'worktrack.yaml');
  await writeFile(
    config,
    `connections:
  bench:
    baseUrl: ${url}
    apiKey: { env: BENCH_KEY }
    lake: { url: "s3://lake/bench", endpoint: "${s3.endpoint}", region: ${s3.region}, forcePathStyle: true }
    resources: [time-entries]
`,
  );
  const env = {
    ...process.env,
    BENCH_KEY: 'bench',
    TEMPORAL_ADDRESS: temporal.address,
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
  };
  const { client, close } = await connectTemporal({ address: temporal.address });
  const run = async (what) => {
    // A process of its own for each figure: a peak is never forgotten.
    const worker = spawn(
      process.execPath,
      ['--max-old-space-size=128', fileURLToPath(new URL('cli/main.js', dist)), 'worker', '--config', config],
      { env, stdio: 'ignore' },
    );
    const started = Date.now();
    const {
      runs: [report],
    } = await client.workflow.execute('exportWorkflow', {
      workflowId: `bench-${started}`,
      taskQueue: 'worktrack',
      args: [{ connection: 'bench' }],
    });
    const seconds = (Date.now() - started) / 1000;
    const peak = /VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${worker.pid}/status`, 'utf8'))?.[1];
    worker.kill('SIGTERM');
    await once(worker, 'exit');
    const { fetched, inserted, updated, rows: after } = report.counts;
    console.log(
      `${rows} rows, ${what}: ${seconds.toFixed(1)} s, peak ${(Number(peak) / 1024).toFixed(0)} MiB, ` +
        `fetched ${fetched}, inserted ${inserted}, updated ${updated}, rows ${after}`,
    );
  };
  try {
    await run('first full export');
    for (const pick of ['spread', 'newest']) {
      const { status } = await fetch(`${url}/__control/records/time-entries`, {
        method: 'POST',
        body: JSON.stringify({ touch: { count: 1000, pick } }),
      });
      if (status !== 200) throw new Error(`the service answered ${status}`);
      await run(`1000 changed, ${pick}`);
    }
  } finally {
    service.kill('SIGKILL');
    await close();
    await Promise.all([temporal.kill(), s3.kill()]);
    await rm(folder, { recursive: true, force: true });
  }
}
