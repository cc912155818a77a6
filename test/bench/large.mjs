// One first full export of very many rows, another one, an audit, and one increment: time, CPU, memory, requests, and the space of staging (Linux).
//
//   npm run bench:large [-- --rows 20000000 --order random --data worded]
//
// The service holds all rows in memory: 20,000,000 take 13 GiB.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readOptions } from './options.mjs';
import { count, say, title } from './print.mjs';
import { configure, measureExport, setUp, startService, startWorker } from './stage.mjs';

const { rows, order, data } = readOptions({ rows: 20_000_000, order: 'random', data: 'worded' });
const RESOURCE = 'time-entries';
const OVERLAP_S = 1;
const SAMPLE_MS = 2000;
const run = promisify(execFile);

const stage = await setUp();
const service = await startService({ [RESOURCE]: rows, tasks: 5000 }, { order, data });
try {
  const connection = await configure(stage, service.url, {
    resources: ['tasks', RESOURCE],
    yaml: `    sync: { overlap: ${OVERLAP_S}s }\n`,
  });
  title(`${count(rows)} rows (${data}), list order ${order}, Node ${process.version}`);
  await measure(connection, 'first full export');
  await measure(connection, 'full export with a snapshot', { full: true });
  await measure(connection, 'audit', { dryRun: { audit: {} } });
  await service.touch(RESOURCE, Math.ceil(rows / 1000), 'spread');
  await new Promise((resolve) => setTimeout(resolve, 3 * OVERLAP_S * 1000));
  await measure(connection, 'increment, 0.1 % changed, spread evenly');
} finally {
  service.stop();
  await stage.stop();
}
process.exit(0);

/** Measures with a new worker, because a process never gets smaller. */
async function measure(connection, name, input = {}) {
  const worker = await startWorker(stage, connection);
  await measureExport(stage, connection, [worker.pid], { resources: ['tasks'] });
  const staging = join(stage.folder, 's3/lake', connection.name, '_staging');
  let stagedMiB = 0;
  const watch = setInterval(async () => {
    // Objects come and go while they are counted, so `du` may complain.
    const { stdout } = await run('du', ['-sm', staging]).catch((error) => error);
    stagedMiB = Math.max(stagedMiB, Number.parseInt(stdout, 10) || 0);
  }, SAMPLE_MS);
  const before = await service.requests();
  const one = await measureExport(stage, connection, [worker.pid], { resources: [RESOURCE], ...input });
  clearInterval(watch);
  say(`${name}: ${count(one.rows)} rows in ${one.seconds.toFixed(0)} s, ${one.cpu.toFixed(0)} CPU s`);
  say(`  ${count(one.rows / one.seconds)} rows/s, ${count(one.rows / one.cpu)} rows per CPU second`);
  say(
    `  ${one.peakMiB.toFixed(0)} MiB peak, ${one.newEvents} events, ${count((await service.requests()) - before)} requests, ` +
      `${count(one.s3Requests)} to S3, staging ${count(stagedMiB)} MiB at most`,
  );
  await worker.stop();
}
