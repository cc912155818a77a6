// First full exports under each point that the API leaves open, next to a bare loop and dlt.
import { bareLoop, DLT_VERSION, dlt } from './peers.mjs';
import { count, print, say, title } from './print.mjs';
import { startSlowWay } from './slow-store.mjs';
import { measureExport, medianOf, ratiosOf, startService, warmConnection } from './stage.mjs';

const RESOURCE = 'time-entries';
/** Rows that each reads before it is measured. */
const WARM_UP = 5000;
/** Round trips to the service, and what a request to a store in the same region takes. */
const SERVICE_MS = 50;
const STORE_MS = 30;

/** A near service and store, large pages without compression. The order is the least friendly one. */
const BASE = { order: 'random', pageSize: 1000, gzip: 'off', serviceMs: 0, storeMs: 0 };
const POINTS = [
  ['pages of 1,000', {}],
  ['pages of 200', { pageSize: 200 }],
  ['pages of 50', { pageSize: 50 }],
  ['gzip', { gzip: 'large' }],
  [`service ${SERVICE_MS} ms away`, { serviceMs: SERVICE_MS }],
  [`store ${STORE_MS} ms away`, { storeMs: STORE_MS }],
  ['list order updatedAt', { order: 'updatedAt' }],
  ['list order -updatedAt', { order: '-updatedAt' }],
  ['list order id', { order: 'id' }],
  ['pages of 50, gzip, both away', { pageSize: 50, gzip: 'large', serviceMs: SERVICE_MS, storeMs: STORE_MS }],
];

/** Measures each point, and prints the ratios with the worst one first. @param hasDlt whether dlt is a peer */
export async function openPoints(stage, { rows, rounds, data, hasDlt }) {
  const measured = [];
  for (const [name, point] of POINTS)
    measured.push({ name, ...(await measure(stage, { ...BASE, ...point }, { rows, rounds, data, hasDlt })) });
  const ratio = (one, peer, field) => ratiosOf(one[peer], one.full, field).median;
  const worst = measured.sort((a, b) => ratio(a, 'bare', 'seconds') - ratio(b, 'bare', 'seconds'));
  title(
    `first full export of ${count(rows)} rows (${data}), list in random order unless stated, ${rounds === 1 ? 'one round' : `median of ${rounds} rounds`}, the worst case first`,
  );
  const peers = [['bare', 'bare loop'], ...(hasDlt ? [['dlt', `dlt ${DLT_VERSION}`]] : [])];
  const ratios = (one) =>
    peers.flatMap(([peer, label]) => [
      `${ratio(one, peer, 'seconds').toFixed(2)} times the rows/s of ${label}`,
      `${ratio(one, peer, 'cpu').toFixed(2)} times its rows per CPU second`,
    ]);
  print(worst.map((one) => [one.name, ...ratios(one)]));
  say('');
  const figures = (list) => [
    `${medianOf(list, 'seconds').toFixed(2)} s`,
    `${medianOf(list, 'cpu').toFixed(2)} CPU s`,
    `${medianOf(list, 'peakMiB').toFixed(0)} MiB peak`,
  ];
  print(
    worst.flatMap((one) =>
      [...peers, ['full', 'export']].map(([peer, label]) => [one.name, label, ...figures(one[peer])]),
    ),
  );
}

async function measure(stage, { order, pageSize, gzip, serviceMs, storeMs }, { rows, rounds, data, hasDlt }) {
  const service = await startService({ [RESOURCE]: rows, tasks: WARM_UP }, { order, data, gzip });
  const way = storeMs === 0 ? null : await startSlowWay(stage.s3.endpoint, storeMs);
  const s3 = way === null ? stage.s3 : { ...stage.s3, endpoint: way.url };
  const bare = [];
  const peers = [];
  const full = [];
  try {
    if (serviceMs > 0) await service.latency(serviceMs);
    for (let round = 0; round < rounds; round++) {
      const name = `open_${Object.values({ order, pageSize, gzip, serviceMs, storeMs, round }).join('_')}`;
      const job = {
        url: service.url,
        endpoint: s3.endpoint,
        resource: RESOURCE,
        name: name.replaceAll('-', 'd'),
        pageSize,
        warmUp: WARM_UP,
      };
      bare.push(checked(await bareLoop(stage, job), rows));
      if (hasDlt) peers.push(checked(await dlt(stage, job), rows));
      const connection = await warmConnection({ ...stage, s3 }, service, {
        resources: ['tasks', RESOURCE],
        yaml: `    sync: { pageSize: ${pageSize} }\n`,
      });
      const { worker } = connection;
      full.push(
        checked(await measureExport(stage, connection, [worker.pid], { resources: [RESOURCE] }), rows),
      );
      await worker.stop();
    }
  } finally {
    way?.stop();
    service.stop();
  }
  return { bare, dlt: peers, full };
}

/** A comparison counts only if all have read every row. */
function checked(one, rows) {
  if (one.rows !== rows) throw new Error(`${one.rows} rows instead of ${rows}`);
  return one;
}
