// npm run bench:written-rows [-- batches rows]: time, peak resident memory (VmHWM, Linux) and requests of the look-up of a
// file's rows among those that earlier batches have written. The record is made by the code that batches use, in versitygw,
// with random hashes. Each figure is of a process of its own. Then the same through a way that delays each request by 30 ms.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const RESOURCE = 'time-entries';
const BASE_URL = 'https://tracker.example.com';
const dist = new URL('../../dist/src/', import.meta.url);
const { openStore } = await import(new URL('lake/store/index.js', dist));
const ledger = new URL('write-back/ledger/', dist);
const { addClaim, ClaimRecords, closeClaim, readClaim } = await import(new URL('claim.js', ledger));
const { listLedger, tidyLedger } = await import(new URL('entries.js', ledger));
const { lookUpRows } = await import(new URL('look-up.js', ledger));
const { TargetSystem } = await import(new URL('write-back/system.js', dist));
const { keyHash, RowHashes } = await import(new URL('row-hashes.js', ledger));

if (process.argv[2] === 'look-up') await lookUp();
else await main();
process.exit(0);

function settingsOf(endpoint, region) {
  return { url: 's3://lake/bench', endpoint, region, forcePathStyle: true };
}

function hashesOf(count, from) {
  const hashes = new RowHashes(true);
  for (let n = from; n < from + count; n++)
    hashes.add(keyHash('ref', `ref-${n}`), createHash('sha256').update(`cells ${n}`).digest(), 'open');
  return hashes;
}

async function main() {
  const [batches = 1000, rows = 1_000_000] = process.argv.slice(2).map(Number);
  const { ensureBucket, resolveServer, startVersitygw } = await import(new URL('servers/index.js', dist));
  const { startSlowWay } = await import('./slow-store.mjs');
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-bench-'));
  const s3 = await startVersitygw({
    executable: (await resolveServer('versitygw')).path,
    dataDir: join(folder, 's3'),
    iamDir: join(folder, 'iam'),
  });
  process.env.AWS_ACCESS_KEY_ID = s3.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = s3.secretAccessKey;
  try {
    await ensureBucket(s3, 'lake');
    const store = openStore(settingsOf(s3.endpoint, s3.region));
    const each = Math.floor(rows / batches);
    const begun = Date.now();
    const slowest = { ms: 0, batch: 0 };
    for (let batch = 0; batch < batches; batch++) {
      const started = Date.now();
      const hashes = hashesOf(each, batch * each);
      const records = ClaimRecords.sized(true, each);
      for (let row = 0; row < each; row++) records.add(hashes, row, false);
      const info = { token: `${batch}`, batchId: createHash('sha256').update(`${batch}`).digest('hex') };
      const more = {
        ...{ workflowId: 'w', namespace: 'default', plan: 'plan', turn: 'turn' },
        ...{ isKeyed: true, baseUrl: BASE_URL },
      };
      const listing = await listLedger(store, RESOURCE);
      const number = await addClaim(store, RESOURCE, listing, { ...info, ...more }, records);
      const claim = await readClaim(store, RESOURCE, number);
      await closeClaim(store, RESOURCE, claim, Date.now(), () => 'written');
      await tidyLedger(store, RESOURCE);
      if (Date.now() - started > slowest.ms) Object.assign(slowest, { ms: Date.now() - started, batch });
    }
    const { entries } = await listLedger(store, RESOURCE);
    let bytes = 0;
    for (const { key } of entries) bytes += (await store.head(key)).bytes;
    console.log(
      `${batches} batches of ${each} rows recorded: ${((Date.now() - begun) / batches).toFixed(0)} ms each, the slowest ` +
        `${slowest.ms} ms (it merged); ${entries.length} objects, ${(bytes / 2 ** 20).toFixed(1)} MiB`,
    );
    const slow = await startSlowWay(s3.endpoint, 30);
    for (const [endpoint, where] of [
      [s3.endpoint, 'versitygw'],
      [slow.url, 'versitygw, 30 ms away'],
    ]) {
      for (const [what, count, from] of [
        ['none written', 500, rows],
        ['497 of 500 written', 500, rows - 497],
        [`all of ${rows} written`, rows, 0],
      ]) {
        for (let round = 0; round < 3; round++) await measure(where, what, endpoint, s3.region, count, from);
      }
    }
    slow.stop();
  } finally {
    await s3.kill();
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(where, what, endpoint, region, count, from) {
  const child = spawn(
    process.execPath,
    ['--max-old-space-size=64', fileURLToPath(import.meta.url), 'look-up', endpoint, region, count, from],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let text = '';
  child.stdout.on('data', (some) => {
    text += some;
  });
  await once(child, 'close');
  console.log(`${where}, file of ${count} rows, ${what}: ${text.trim()}`);
}

async function lookUp() {
  const [endpoint, region, count, from] = process.argv.slice(3);
  const store = openStore(settingsOf(endpoint, region));
  const requests = {};
  const counted = new Proxy(store, {
    get(target, name) {
      const value = target[name];
      if (typeof value !== 'function') return value;
      return (...args) => {
        requests[name] = (requests[name] ?? 0) + 1;
        return value.apply(target, args);
      };
    },
  });
  await store.head('warm-up');
  const hashes = hashesOf(Number(count), Number(from));
  const before = await peak();
  const started = process.hrtime.bigint();
  const { tally } = await lookUpRows(counted, hashes, {
    resource: RESOURCE,
    batchId: 'mine',
    system: new TargetSystem(BASE_URL),
    ownClaims: null,
    stateOf: async () => () => 'doubtful',
    signal: null,
  });
  const found = {};
  for (const { finding } of tally.find()) found[finding] = (found[finding] ?? 0) + 1;
  const seconds = Number(process.hrtime.bigint() - started) / 1e9;
  console.log(
    `${seconds.toFixed(2)} s, peak ${(await peak()).toFixed(0)} MiB (${before.toFixed(0)} MiB before, with the hashes of the file), ` +
      `requests ${JSON.stringify(requests)}, found ${JSON.stringify(found)}`,
  );
}

async function peak() {
  const status = await readFile('/proc/self/status', 'utf8');
  return Number(/VmHWM:\s+(\d+)/.exec(status)[1]) / 1024;
}
