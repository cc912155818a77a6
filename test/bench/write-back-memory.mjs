// npm run bench:write-back [-- rows...]: writes files of so many rows back with a worker process; time and peak resident
// memory (VmHWM, Linux) of the command that checks and copies the file and of the worker, for creates keyed by content,
// creates keyed by a column, and a second run of the same file.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const dist = new URL('../../dist/src/', import.meta.url);
const { ensureBucket, resolveServer, startTemporalDevServer, startVersitygw } = await import(
  new URL('servers/index.js', dist)
);
const CLI = fileURLToPath(new URL('cli/main.js', dist));
const sizes = process.argv.slice(2).map(Number);
for (const rows of sizes.length > 0 ? sizes : [1_000_000]) await measure(rows);
process.exit(0);

/** A service that takes everything at the same time: the figures are to be ours. */
async function startService() {
  let made = 0;
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      made++;
      const body = `{"id":"${String(made).padStart(26, '0')}"}`;
      response
        .writeHead(201, { 'content-type': 'application/json', 'content-length': body.length })
        .end(body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    made: () => made,
    close: () => server.closeAllConnections(),
  };
}

async function measure(rows) {
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-bench-'));
  const [temporal, s3, service] = await Promise.all([
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
    startService(),
  ]);
  await ensureBucket(s3, 'lake');
  const config = join(folder, 'worktrack.yaml');
  await writeFile(
    config,
    `connections:
  bench:
    baseUrl: ${service.url}
    apiKey: { env: BENCH_KEY }
    lake: { url: "s3://lake/bench", endpoint: "${s3.endpoint}", region: ${s3.region}, forcePathStyle: true }
    resources: [projects]
    http: { concurrency: 16 }
`,
  );
  const env = {
    ...process.env,
    BENCH_KEY: 'bench',
    TEMPORAL_ADDRESS: temporal.address,
    AWS_ACCESS_KEY_ID: s3.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
  };
  const file = join(folder, 'entries.csv');
  const out = createWriteStream(file);
  out.write('ref,description,durationSeconds:integer,startedAt,billable:boolean\n');
  for (let n = 0; n < rows; n++) {
    const line = `ref-${n},"entry no. ${n}, with a comma",${n % 7200},2026-11-20T08:00:00Z,${n % 2 === 0}\n`;
    if (!out.write(line)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');

  const run = async (what, args) => {
    // Separate processes for each figure, because a process's peak memory never falls.
    const worker = spawn(process.execPath, ['--max-old-space-size=160', CLI, 'worker', '--config', config], {
      env,
      stdio: 'ignore',
    });
    const before = service.made();
    const started = Date.now();
    const command = spawn(
      process.execPath,
      [CLI, 'write-back', 'time-entries', file, '--json', '--config', config, ...args],
      { env, stdio: ['ignore', 'pipe', 'ignore'] },
    );
    let stdout = '';
    let commandPeak = 0;
    command.stdout.on('data', (text) => {
      stdout += text;
    });
    const watch = setInterval(async () => {
      commandPeak = Math.max(commandPeak, (await peakOf(command.pid)) ?? 0);
    }, 250);
    await once(command, 'close');
    clearInterval(watch);
    const seconds = (Date.now() - started) / 1000;
    const peak = await peakOf(worker.pid);
    worker.kill('SIGTERM');
    await once(worker, 'exit');
    const { outcome, counts } = JSON.parse(stdout);
    console.log(
      `${rows} rows, ${what}: ${seconds.toFixed(1)} s, worker peak ${peak.toFixed(0)} MiB, command peak ${commandPeak.toFixed(0)} MiB, ` +
        `${outcome}, created ${counts.created}, requests ${service.made() - before}`,
    );
  };
  try {
    await run('keyed by content', []);
    await run('the same file again', []);
    await run('keyed by a column, a batch id', ['--key-column', 'ref', '--batch-id', 'named']);
    const text = `ref-new,one more,60,2026-11-20T08:00:00Z,true\n`;
    await writeFile(file, text, { flag: 'a' });
    await run('the same batch with a row more', ['--key-column', 'ref', '--batch-id', 'named']);
  } finally {
    service.close();
    await Promise.all([temporal.kill(), s3.kill()]);
    await rm(folder, { recursive: true, force: true });
  }
}

async function peakOf(pid) {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const peak = /VmHWM:\s+(\d+)/.exec(status)?.[1];
  return peak === undefined ? null : Number(peak) / 1024;
}
