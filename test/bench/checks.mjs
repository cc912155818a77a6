// What checks before publish cost: increments of 0.1% with and without eight checks, and the first reading of all parts.
//
//   npm run bench:checks [-- --rows 2000000 --rounds 5]
import { readFile, writeFile } from 'node:fs/promises';
import { readOptions } from './options.mjs';
import { count, print, say, title } from './print.mjs';
import {
  measureExport,
  medianOf,
  ratiosOf,
  setUp,
  startService,
  startWorker,
  warmConnection,
} from './stage.mjs';

const { rows, rounds } = readOptions({ rows: 2_000_000, rounds: 5 });
const RESOURCE = 'time-entries';
const CHECKS = `[
        { rows: { min: 1000 } },
        { change: { max: 20%, over: 7 } },
        { notNull: [description, startedAt] },
        { unique: [createdAt], onFail: warn },
        { oneOf: { currency: [EUR, USD, GBP, CHF] } },
        { range: { durationSeconds: { min: 0, max: 86400 } } },
        { newest: { field: updatedAt, maxAge: 3d } } ]`;
const YAML = '    sync: { overlap: 1s }\n';
const checked = (checks) => `{ name: ${RESOURCE}, checks: ${checks} }`;
const settle = () => new Promise((resolve) => setTimeout(resolve, 3000));

const stage = await setUp();
const service = await startService({ [RESOURCE]: rows, tasks: 5000 }, { order: 'random', data: 'worded' });
try {
  const connect = (resource) =>
    warmConnection(stage, service, { resources: ['tasks', resource], yaml: YAML });
  const measure = (connection) =>
    measureExport(stage, connection, [connection.worker.pid], { resources: [RESOURCE] });
  const plain = await connect(RESOURCE);
  const withChecks = await connect(checked(CHECKS));
  title(`${count(rows)} rows (worded), list in random order, Node ${process.version}`);
  const first = { plain: await measure(plain), checks: await measure(withChecks) };
  show('first full export', [first.plain], [first.checks]);
  for (const pick of ['spread', 'newest']) {
    const all = { plain: [], checks: [] };
    for (let round = 0; round < rounds; round++) {
      await service.touch(RESOURCE, Math.ceil(rows / 1000), pick);
      await settle();
      // What runs first reads data that the machine has not cached, so the order changes.
      const order = round % 2 === 0 ? ['plain', 'checks'] : ['checks', 'plain'];
      for (const which of order) all[which].push(await measure(which === 'plain' ? plain : withChecks));
    }
    show(`0.1 % changed, ${pick === 'spread' ? 'spread evenly' : 'the newest'}`, all.plain, all.checks);
  }
  // The connection without checks gets some, so its next run reads all parts.
  await plain.worker.stop();
  const text = await readFile(plain.file, 'utf8');
  await writeFile(plain.file, text.replace(`tasks, ${RESOURCE}`, `tasks, ${checked(CHECKS)}`));
  const worker = await startWorker(stage, plain);
  const again = { ...plain, worker };
  await measureExport(stage, again, [worker.pid], { resources: ['tasks'] });
  await service.touch(RESOURCE, Math.ceil(rows / 1000), 'newest');
  await settle();
  const reading = await measure(again);
  say(
    `first reading of all parts, with 0.1 % changed: ${reading.seconds.toFixed(1)} s, ${reading.cpu.toFixed(1)} CPU s, ` +
      `${reading.peakMiB.toFixed(0)} MiB peak`,
  );
  await Promise.all([worker.stop(), withChecks.worker.stop()]);
} finally {
  service.stop();
  await stage.stop();
}
process.exit(0);

function show(name, plain, checks) {
  const ratio = (field) => ratiosOf(checks, plain, field);
  const figures = (list) =>
    `${medianOf(list, 'seconds').toFixed(2)} s, ${medianOf(list, 'cpu').toFixed(2)} CPU s, ${medianOf(list, 's3Requests')} requests to S3`;
  const [time, cpu] = [ratio('seconds'), ratio('cpu')];
  print([
    [name, 'without checks', figures(plain)],
    ['', 'with eight checks', figures(checks)],
    [
      '',
      'times as long',
      `${time.median.toFixed(3)} (${time.min.toFixed(3)} to ${time.max.toFixed(3)}), CPU ${cpu.median.toFixed(3)} (${cpu.min.toFixed(3)} to ${cpu.max.toFixed(3)})`,
    ],
  ]);
}
