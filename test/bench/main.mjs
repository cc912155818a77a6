// Speed, side by side with a bare loop, in one run on real servers (Linux).
//
//   npm run bench [-- --sizes 5000,200000,2000000 --orders updatedAt,-updatedAt,random,id --data worded --rounds 3
//     --skip nights,open,dlt,store,latency,scale,write-back --open-rows 20000 --write-back-rows 10000 --tables]
//
// `--orders` are the orders that the service lists its records in; `-updatedAt` is descending. Rows have
// different sentences as texts (`--data worded`), or a few phrases that compress better (`--data generic`). `--tables`
// also writes Delta tables. The first lines printed for each size are the worst case. Then each other point that the API
// leaves open varies at `--open-rows` rows, also next to dlt, which is installed from PyPI at its first use.
//
// What it prints are medians. What it compares alternates, and a ratio is the median of those of each round. CPU is that of
// our own processes: the worker's, and the bare loop's. Time is from asking for the export to the answer that it is
// published.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { openPoints } from './open-points.mjs';
import { readOptions } from './options.mjs';
import { bareLoop } from './peers.mjs';
import { count, mib, print, say, title } from './print.mjs';
import { startSlowWay } from './slow-store.mjs';
import {
  configure,
  measureExport,
  measureWriteBack,
  median,
  medianOf,
  ratiosOf,
  setUp,
  startService,
  startWorker,
  warmConnection,
} from './stage.mjs';

const options = readOptions({
  sizes: [5000, 200_000, 2_000_000],
  rounds: 3,
  orders: ['updatedAt', '-updatedAt', 'random', 'id'],
  data: 'worded',
  skip: [''],
  'open-rows': 20_000,
  'write-back-rows': 10_000,
  tables: false,
});
const { sizes, rounds: ROUNDS, data } = options;
const skip = new Set(options.skip);
const RESOURCE = 'time-entries';
/** Rows of the export that warms a process up. */
const WARM_UP = 5000;
/** Between two of the runs, which follow one another immediately. */
const OVERLAP_S = 1;
/** About what a request to a store in the same region takes. */
const STORE_LATENCY_MS = 30;
/** A large resource is measured less often. */
const LARGE = 1_000_000;

/** Changes between two runs: name, share of the rows, and which. */
const NIGHTS = [
  ['newest 0.1 %', 0.001, 'newest'],
  ['spread 0.1 %', 0.001, 'spread'],
  ['spread 5 %', 0.05, 'spread'],
  ['nothing changed', 0, 'spread'],
];

const stage = await setUp();
try {
  for (const rows of sizes) {
    const compared = [];
    for (const order of options.orders) compared.push(await compare(rows, order));
    summarize(rows, compared);
    for (const { print } of compared) print();
  }
  if (!skip.has('open'))
    await openPoints(stage, {
      rows: options['open-rows'],
      rounds: ROUNDS,
      data,
      hasDlt: !skip.has('dlt'),
    });
  if (!skip.has('store')) await slowStore(20_000);
  if (!skip.has('latency')) for (const pageSize of [250, 1000]) await latency(pageSize);
  if (!skip.has('scale')) await scale();
  if (!skip.has('write-back')) await writeBack(options['write-back-rows']);
} finally {
  await stage.stop();
}
process.exit(0);

/**
 * The bare loop against first full exports and increments of one size. Returns the ratios to the bare loop, and a function
 * that prints all figures.
 */
async function compare(rows, order) {
  const service = await startService(
    { [RESOURCE]: rows, tasks: WARM_UP, projects: 500, members: 200 },
    { order, data },
  );
  const rounds = rows >= LARGE ? 1 : ROUNDS;
  const bare = [];
  const full = [];
  const nights = skip.has('nights') ? [] : NIGHTS;
  const after = nights.map(() => []);
  try {
    const alone = await ceiling(service, rows);
    const job = {
      url: service.url,
      endpoint: stage.s3.endpoint,
      resource: RESOURCE,
      pageSize: 1000,
      warmUp: WARM_UP,
    };
    for (let round = 0; round < rounds; round++) {
      const name = `bare-${order}-${rows}-${round}`;
      bare.push(await counted(service, () => bareLoop(stage, { ...job, name })));
      const connection = await connect(service);
      const { worker } = connection;
      const run = () => measureExport(stage, connection, [worker.pid], { resources: [RESOURCE] });
      full.push(await counted(service, run));
      for (const [at, [, share, pick]] of nights.entries()) {
        if (share > 0) await service.touch(RESOURCE, Math.max(1, Math.round(rows * share)), pick);
        // Longer than the overlap, as days are: the next increment does not read the same rows again.
        await delay(3 * OVERLAP_S * 1000);
        after[at].push(await counted(service, run));
      }
      await worker.stop();
    }
    const perSecond = ratiosOf(bare, full, 'seconds');
    const perCpu = ratiosOf(bare, full, 'cpu');
    return {
      ...{ order, perSecond, perCpu },
      print() {
        title(
          `${count(rows)} rows, list order ${order}, ${rounds === 1 ? 'one round' : `median of ${rounds} rounds`}`,
        );
        say(`the service alone: ${count(alone)} rows/s`);
        print([fullLine('bare loop', bare, rows), fullLine('first full export', full, rows)]);
        if (nights.length > 0) print(nights.map(([name], at) => nightLine(name, after[at], full)));
      },
    };
  } finally {
    service.stop();
  }
}

/** Prints the ratios to the bare loop, the worst case first. */
function summarize(rows, compared) {
  title(`${count(rows)} rows (${data}), as a multiple of the bare loop's, the worst case first`);
  const sorted = compared.sort((a, b) => a.perSecond.median - b.perSecond.median);
  print(
    sorted.map(({ order, perSecond, perCpu }) => [
      `list order ${order}`,
      `${rangeOf(perSecond)} in rows/s`,
      `${rangeOf(perCpu)} in rows per CPU second`,
    ]),
  );
}

function rangeOf({ median, min, max }) {
  return min === max ? median.toFixed(2) : `${median.toFixed(2)} (${min.toFixed(2)} to ${max.toFixed(2)})`;
}

function fullLine(name, list, rows) {
  return [
    name,
    `${medianOf(list, 'seconds').toFixed(2)} s`,
    `${count(rows / medianOf(list, 'seconds'))} rows/s`,
    `${medianOf(list, 'cpu').toFixed(2)} CPU s`,
    `${count(rows / medianOf(list, 'cpu'))} rows/CPU s`,
    `${medianOf(list, 'peakMiB').toFixed(0)} MiB peak`,
    list[0].newEvents === undefined ? '' : `${medianOf(list, 'newEvents')} events`,
    list[0].received === undefined
      ? ''
      : `${mib(medianOf(list, 'received'))} MiB in, ${mib(medianOf(list, 'sent'))} MiB out`,
    `${medianOf(list, 'requests')} requests`,
    list[0].s3Requests === undefined ? '' : `${medianOf(list, 's3Requests')} to S3`,
  ];
}

function nightLine(name, list, full) {
  return [
    `increment, ${name}`,
    `${medianOf(list, 'seconds').toFixed(2)} s`,
    `${medianOf(list, 'cpu').toFixed(2)} CPU s`,
    `${((100 * medianOf(list, 'seconds')) / medianOf(full, 'seconds')).toFixed(1)} % of the full export`,
    `${medianOf(list, 'peakMiB').toFixed(0)} MiB peak`,
    `${medianOf(list, 'newEvents')} events`,
    `${mib(medianOf(list, 'received'))} MiB in, ${mib(medianOf(list, 'sent'))} MiB out`,
    `${medianOf(list, 'requests')} requests`,
    `${medianOf(list, 's3Requests')} to S3`,
  ];
}

/** What something measured, with the requests that it made of the service. */
async function counted(service, measure) {
  const before = await service.requests();
  return { ...(await measure()), requests: (await service.requests()) - before };
}

/** A small resource and a store as far away as S3 is, also for the bare loop: what is asked in turn decides. */
async function slowStore(rows) {
  const service = await startService({ [RESOURCE]: rows, tasks: WARM_UP });
  const way = await startSlowWay(stage.s3.endpoint, STORE_LATENCY_MS);
  title(
    `${STORE_LATENCY_MS} ms of latency per request to S3, ${count(rows)} rows, median of ${ROUNDS} rounds`,
  );
  try {
    const job = {
      url: service.url,
      endpoint: way.url,
      resource: RESOURCE,
      pageSize: 1000,
      warmUp: WARM_UP,
    };
    const bare = [];
    const full = [];
    const nights = [];
    for (let round = 0; round < ROUNDS; round++) {
      bare.push(await bareLoop(stage, { ...job, name: `bare-far-${round}` }));
      const connection = await connect(service, { ...stage.s3, endpoint: way.url });
      const { worker } = connection;
      const run = () => measureExport(stage, connection, [worker.pid], { resources: [RESOURCE] });
      full.push(await run());
      await service.touch(RESOURCE, Math.max(1, Math.round(rows * 0.001)), 'newest');
      await delay(3 * OVERLAP_S * 1000);
      nights.push(await run());
      await worker.stop();
    }
    const line = (name, list) => {
      const seconds = median(list.map((one) => one.seconds));
      const requests = median(list.map((one) => one.s3Requests));
      const inTurn = Math.round((1000 * seconds) / STORE_LATENCY_MS);
      return [name, `${seconds.toFixed(2)} s`, `${requests} to S3`, `as long as ${inTurn} in turn`];
    };
    say(`  ${rangeOf(ratiosOf(bare, full, 'seconds'))} times the bare loop's rows per second`);
    print([
      ['bare loop', `${median(bare.map((one) => one.seconds)).toFixed(2)} s`, '1 to S3', ''],
      line('first full export', full),
      line('increment, newest 0.1 %', nights),
    ]);
  } finally {
    way.stop();
    service.stop();
  }
}

/** Four resources behind 50 ms of latency, the slowest of 400 pages; large pages take the service itself some ms more. */
async function latency(pageSize) {
  const pages = { [RESOURCE]: 400, tasks: 100, projects: 50, members: 50 };
  const counts = Object.fromEntries(Object.entries(pages).map(([name, n]) => [name, n * pageSize]));
  const service = await startService(counts);
  title(
    `50 ms of latency per request, four resources, pages of ${count(pageSize)} rows, median of ${ROUNDS} rounds`,
  );
  try {
    for (const name of Object.keys(counts)) await fetchPage(service, name, null);
    await service.latency(50);
    const rounds = [];
    for (let round = 0; round < ROUNDS; round++) {
      const connection = await configure(stage, service.url, {
        resources: [...Object.keys(counts), 'clients'],
        yaml: `    sync: { pageSize: ${pageSize} }\n`,
      });
      const worker = await startWorker(stage, connection);
      await measureExport(stage, connection, [worker.pid], { resources: ['clients'] });
      rounds.push(await measureExport(stage, connection, [worker.pid], { resources: Object.keys(counts) }));
      await worker.stop();
    }
    const floor = pages[RESOURCE] * 0.05;
    const seconds = median(rounds.map((one) => one.seconds));
    const peakMiB = median(rounds.map((one) => one.peakMiB));
    say(
      `${count(rounds[0].rows)} rows in ${seconds.toFixed(2)} s, ${peakMiB.toFixed(0)} MiB peak; the slowest resource's pages ` +
        `times latency: ${floor.toFixed(2)} s; ratio ${(seconds / floor).toFixed(2)} (${rounds.map((one) => (one.seconds / floor).toFixed(3)).join(', ')})`,
    );
  } finally {
    service.stop();
  }
}

/** Many resources behind 50 ms of latency: one worker process against two. */
async function scale() {
  const resources = ['projects', 'tasks', 'time-entries', 'calendar-entries', 'members', 'clients', 'tags'];
  const service = await startService(Object.fromEntries(resources.map((name) => [name, 20_000])));
  title(
    '50 ms of latency, seven resources of 20,000 rows, pages of 100 rows, two requests at a time per worker',
  );
  try {
    await service.latency(50);
    for (const workers of [1, 2]) {
      const connection = await configure(stage, service.url, {
        resources,
        yaml: '    sync: { pageSize: 100 }\n    http: { concurrency: 2 }\n',
      });
      const started = await Promise.all(
        Array.from({ length: workers }, () => startWorker(stage, connection)),
      );
      const pids = started.map(({ pid }) => pid);
      const { seconds } = await measureExport(stage, connection, pids);
      for (const worker of started) await worker.stop();
      say(`${workers} worker process${workers === 1 ? '' : 'es'}: ${seconds.toFixed(2)} s`);
    }
  } finally {
    service.stop();
  }
}

/** Creates with receipts against a loop that posts rows in turn and keeps none. */
async function writeBack(rows) {
  const service = await startService({ tasks: WARM_UP });
  title(`write-back of ${count(rows)} rows, median of ${ROUNDS} rounds`);
  try {
    const header = 'description,startedAt,durationSeconds:integer,billable:boolean';
    const body = (round) =>
      Array.from(
        { length: rows },
        (_, at) => `Row ${at} of round ${round},2026-11-20T09:00:00Z,${60 + at},true`,
      );
    const bare = [];
    const product = [];
    for (let round = 0; round < ROUNDS; round++) {
      bare.push({ seconds: await bareWrites(service, rows) });
      const file = join(stage.folder, `rows-${round}.csv`);
      await writeFile(file, `${[header, ...body(round)].join('\n')}\n`);
      const connection = await connect(service);
      product.push(await measureWriteBack(stage, connection, connection.worker, file));
      await connection.worker.stop();
    }
    const seconds = medianOf(product, 'seconds');
    const loop = medianOf(bare, 'seconds');
    const ratio = ratiosOf(bare, product, 'seconds');
    say(`one POST after the other, without receipts: ${loop.toFixed(2)} s, ${count(rows / loop)} rows/s`);
    say(
      `write-back: ${seconds.toFixed(2)} s, ${count(rows / seconds)} rows/s, ${count(rows / medianOf(product, 'cpu'))} rows/CPU s, ` +
        `${medianOf(product, 'peakMiB').toFixed(0)} MiB peak; ${rangeOf(ratio)} times the loop's rows/s`,
    );
  } finally {
    service.stop();
  }
}

async function bareWrites({ url }, rows) {
  const agent = new Agent({ connections: 1 });
  const started = performance.now();
  for (let at = 0; at < rows; at++) {
    const { statusCode, body } = await request(`${url}/api/public/v2/time-entries`, {
      method: 'POST',
      dispatcher: agent,
      headers: {
        authorization: 'Bearer bench',
        'content-type': 'application/json',
        'idempotency-key': `bare-${started}-${at}`,
      },
      body: JSON.stringify({
        description: `Row ${at}`,
        startedAt: '2026-11-20T09:00:00Z',
        durationSeconds: 60 + at,
        billable: true,
      }),
    });
    await body.dump();
    if (statusCode !== 201) throw new Error(`the service answered ${statusCode}`);
  }
  await agent.close();
  return (performance.now() - started) / 1000;
}

/** A connection whose worker has exported something small. */
function connect(service, s3 = stage.s3) {
  return warmConnection({ ...stage, s3 }, service, {
    resources: ['tasks', RESOURCE],
    yaml: `    sync: { overlap: ${OVERLAP_S}s }\n${options.tables ? '    tables: { format: delta }\n' : ''}`,
  });
}

/** Rows a second that the service gives to somebody who does nothing with them. */
async function ceiling(service, rows) {
  const started = performance.now();
  let read = 0;
  for (let cursor = null; ; ) {
    const text = await fetchPage(service, RESOURCE, cursor);
    read += 1000;
    cursor = /"nextCursor":"([^"]+)"/.exec(text.slice(-400))?.[1] ?? null;
    if (cursor === null) break;
  }
  return Math.min(read, rows) / ((performance.now() - started) / 1000);
}

async function fetchPage({ url }, resource, cursor) {
  const query = new URLSearchParams({ limit: '1000', ...(cursor === null ? {} : { cursor }) });
  const answer = await fetch(`${url}/api/public/v2/${resource}?${query}`, {
    headers: { authorization: 'Bearer bench' },
  });
  return answer.text();
}
