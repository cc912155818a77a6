// What Delta tables cost: a worker with tables next to one without, in one run, on real servers (Linux).
//
//   npm run bench:tables [-- --rows 100000 --touch 100,500 --rounds 3 --order id]
//
// CPU and peak memory are those of the worker and its children. The two workers export the same service alternately: first all
// rows, then the rows that were touched since, spread evenly. The process that converts has ended between two exports, as it has
// between two nights.
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { readOptions } from './options.mjs';
import { count, print, say, title } from './print.mjs';
import { measureExport, median, setUp, startService, usage, warmConnection } from './stage.mjs';

const { rows, touch, rounds, order, data } = readOptions({
  rows: 100_000,
  touch: [100],
  rounds: 3,
  order: 'id',
  data: 'worded',
});
const RESOURCE = 'time-entries';
const WARM_UP = 5000;
/** Longer than the process that converts waits for the next conversion, and than the overlap of two runs. */
const BETWEEN_MS = 4000;
const PAGE_KIB = 4;
const SAMPLE_MS = 10;

const stage = await setUp();
try {
  const service = await startService({ [RESOURCE]: rows, tasks: WARM_UP, projects: 500 }, { order, data });
  const steps = ['first export', ...touch.map((changed) => `${count(changed)} rows changed`)];
  const found = steps.map(() => ({ without: [], with: [] }));
  for (let round = 0; round < rounds; round++) {
    const pair = {
      without: await connect(service, ''),
      with: await connect(service, '    tables: { format: delta }\n'),
    };
    for (const [at] of steps.entries()) {
      if (at > 0) await service.touch(RESOURCE, touch[at - 1], 'spread');
      for (const kind of round % 2 === 0 ? ['without', 'with'] : ['with', 'without']) {
        await delay(BETWEEN_MS);
        found[at][kind].push(await measure(pair[kind]));
      }
    }
    for (const { worker } of Object.values(pair)) await worker.stop();
  }
  service.stop();
  title(
    `${count(rows)} rows (${data}, order ${order}), median of ${rounds} rounds: without tables, with, difference or ratio`,
  );
  print([
    ['', 'CPU s', '', '', '', 'time s', '', '', 'peak MiB', '', ''],
    ...found.map((one, at) => [
      steps[at],
      ...compared(one, 'cpu', 2, true),
      ...compared(one, 'seconds', 2, false),
      ...compared(one, 'peak', 0, false, true),
    ]),
  ]);
  if (process.env.BENCH_FOLDER) {
    say(stage.folder);
    await delay(3_600_000);
  }
} finally {
  await stage.stop();
}
process.exit(0);

function compared(pair, field, digits, isBoth, isDifference = false) {
  const without = median(pair.without.map((one) => one[field]));
  const withTables = median(pair.with.map((one) => one[field]));
  const difference = `+${median(pair.with.map((one, at) => one[field] - pair.without[at][field])).toFixed(digits)}`;
  const ratio = `${median(pair.with.map((one, at) => one[field] / pair.without[at][field])).toFixed(2)}x`;
  return [
    without.toFixed(digits),
    withTables.toFixed(digits),
    ...(isBoth ? [difference, ratio] : [isDifference ? difference : ratio]),
  ];
}

function connect(service, yaml) {
  return warmConnection(stage, service, {
    resources: ['tasks', RESOURCE],
    yaml: `    sync: { overlap: 1s }\n${yaml}`,
  });
}

async function measure({ worker, ...connection }) {
  let isOver = false;
  let peak = 0;
  const watch = async () => {
    for (; !isOver; await delay(SAMPLE_MS)) peak = Math.max(peak, await residentMiB(worker.pid));
  };
  const watching = watch();
  const before = await usage(worker.pid);
  const { seconds } = await measureExport(stage, connection, [worker.pid], { resources: [RESOURCE] });
  // Until the process that converts has ended.
  await delay(BETWEEN_MS);
  const { cpu } = await usage(worker.pid);
  isOver = true;
  await watching;
  return { seconds, cpu: cpu - before.cpu, peak };
}

/** Resident memory of all processes of a worker. */
async function residentMiB(pid) {
  const statm = await readFile(`/proc/${pid}/statm`, 'utf8').catch(() => '0 0');
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const lists = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '')),
  );
  const children = lists.join(' ').split(' ').filter(Boolean);
  const rest = await Promise.all(children.map(residentMiB));
  return rest.reduce((all, one) => all + one, (Number(statm.split(' ')[1]) * PAGE_KIB) / 1024);
}
