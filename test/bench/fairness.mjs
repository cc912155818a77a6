// How much a connection that loads many rows slows down the nightly run of another connection in the same worker (Linux).
//
//   npm run bench:fairness [-- --rows 10000000 --nights 7 --limit 2 --timeout 1800]
//
// A run is an increment of a resource of a single page with ten changed rows. It is measured alone, and then
// again and again while the other connection loads its rows for the first time. Ends with 1 if the median run takes more
// than `--limit` times as long as alone, or if the load does not end within `--timeout` seconds.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readOptions } from './options.mjs';
import { measureExport, median, setUp, startService, startWorker } from './stage.mjs';

const { rows, nights, limit, timeout } = readOptions({
  rows: 10_000_000,
  nights: 7,
  limit: 2,
  timeout: 1800,
});
const RESOURCE = 'time-entries';
const PAGE = 1000;
const OVERLAP_S = 1;
const QUEUE = 'fairness';

const late = setTimeout(() => {
  console.error(`not done after ${timeout} s`);
  process.exit(1);
}, timeout * 1000);

const stage = await setUp();
const large = await startService({ [RESOURCE]: rows });
const small = await startService({ tasks: PAGE });
let ratio = Number.NaN;
try {
  const file = join(stage.folder, 'fairness.yaml');
  await writeFile(
    file,
    `connections:\n${connection('large', large.url, RESOURCE)}${connection('small', small.url, 'tasks')}`,
  );
  const worker = await startWorker(stage, { file, name: QUEUE });
  const run = (name) => measureExport(stage, { name, taskQueue: QUEUE }, [worker.pid]);
  const night = async () => {
    await small.touch('tasks', 10, 'spread');
    // Longer than the overlap, as days are.
    await delay(3 * OVERLAP_S * 1000);
    return (await run('small')).seconds;
  };
  // The first run loads the page, the second warms up the path of an increment.
  await run('small');
  await night();
  const alone = [];
  for (let at = 0; at < nights; at++) alone.push(await night());
  let loading = true;
  const load = run('large').finally(() => {
    loading = false;
  });
  const together = [];
  // A run that outlasts the load did not run next to it.
  while (loading) {
    const seconds = await night();
    if (loading) together.push(seconds);
  }
  const { seconds, peakMiB } = await load;
  if (together.length < 3) throw new Error(`only ${together.length} nights beside the load; raise --rows`);
  ratio = median(together) / median(alone);
  say(
    `load of ${count(rows)} rows beside the nights: ${seconds.toFixed(1)} s, ${peakMiB.toFixed(0)} MiB peak`,
  );
  say(`night of one page, alone:    ${summary(alone)}`);
  say(`night of one page, together: ${summary(together)}`);
  say(`ratio of the medians: ${ratio.toFixed(2)} (limit ${limit})`);
  await worker.stop();
} finally {
  clearTimeout(late);
  large.stop();
  small.stop();
  await stage.stop();
}
process.exit(ratio <= limit ? 0 : 1);

function connection(name, url, resource) {
  const { endpoint, region } = stage.s3;
  return `  ${name}:
    baseUrl: ${url}
    apiKey: { env: BENCH_KEY }
    lake: { url: "s3://lake/${name}", endpoint: "${endpoint}", region: ${region}, forcePathStyle: true }
    resources: [${resource}]
    sync: { overlap: ${OVERLAP_S}s }
`;
}

function summary(list) {
  return `${median(list).toFixed(2)} s median of ${list.length} (${Math.min(...list).toFixed(2)} to ${Math.max(...list).toFixed(2)})`;
}

function count(value) {
  return Math.round(value).toLocaleString('en-US');
}

function say(text) {
  console.log(text);
}
