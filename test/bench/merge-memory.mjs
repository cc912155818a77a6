// A worker's peak memory while it merges a run's changes into a large snapshot, on real servers (Linux).
//
//   npm run bench:memory [-- rows ...]
//
// Prints, for each number of rows: time and peak resident memory after the first full export and after an export of
// 1,000 changed rows, spread over all keys and among the newest.
import { configure, measureExport, setUp, startService, startWorker } from './stage.mjs';

const RESOURCE = 'time-entries';
const sizes = process.argv.slice(2).map(Number);

for (const rows of sizes.length > 0 ? sizes : [1_000_000]) await measure(rows);
process.exit(0);

async function measure(rows) {
  const stage = await setUp();
  const service = await startService({ [RESOURCE]: rows });
  const connection = await configure(stage, service.url, { resources: [RESOURCE] });
  const run = async (what) => {
    // A separate process for each figure, because a process's peak memory never falls.
    const worker = await startWorker(stage, connection);
    const { seconds, peakMiB, runs } = await measureExport(stage, connection, [worker.pid]);
    await worker.stop();
    const { fetched, inserted, updated, rows: after } = runs[0].counts;
    console.log(
      `${rows} rows, ${what}: ${seconds.toFixed(1)} s, peak ${peakMiB.toFixed(0)} MiB, ` +
        `fetched ${fetched}, inserted ${inserted}, updated ${updated}, rows ${after}`,
    );
  };
  try {
    await run('first full export');
    for (const pick of ['spread', 'newest']) {
      await service.touch(RESOURCE, 1000, pick);
      await run(`1000 changed, ${pick}`);
    }
  } finally {
    service.stop();
    await stage.stop();
  }
}
