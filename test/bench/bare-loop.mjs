// The loop that a good engineer would write without any durability: page after page, parse, CSV, gzip, one upload.
// Its argument is a job as JSON (peers.mjs).
import { once } from 'node:events';
import { promisify } from 'node:util';
import { createGzip, gunzip } from 'node:zlib';
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { stringify } from 'csv-stringify';
import { Agent, request } from 'undici';

const { url, endpoint, region, name, resource, pageSize, warmUp } = JSON.parse(process.argv[2]);
const unzip = promisify(gunzip);
const agent = new Agent({ connections: 1 });
const s3 = new S3Client({ endpoint, region, forcePathStyle: true });

async function run(object, limitRows) {
  const csv = stringify({ header: true });
  const gzip = createGzip({ level: 6 });
  const chunks = [];
  gzip.on('data', (chunk) => chunks.push(chunk));
  csv.pipe(gzip);
  let rows = 0;
  let cursor = null;
  do {
    const query = new URLSearchParams({ limit: String(pageSize), ...(cursor === null ? {} : { cursor }) });
    const { statusCode, headers, body } = await request(`${url}/api/public/v2/${resource}?${query}`, {
      dispatcher: agent,
      headers: { authorization: `Bearer ${process.env.BENCH_KEY}`, 'accept-encoding': 'gzip' },
    });
    const text =
      headers['content-encoding'] === 'gzip'
        ? String(await unzip(await body.arrayBuffer()))
        : await body.text();
    if (statusCode !== 200) throw new Error(`status ${statusCode}: ${text}`);
    const page = JSON.parse(text);
    for (const record of page.data) {
      rows++;
      if (!csv.write(record)) await once(csv, 'drain');
    }
    cursor = page.page.nextCursor ?? null;
  } while (cursor !== null && rows < limitRows);
  csv.end();
  await once(gzip, 'end');
  await s3.send(new PutObjectCommand({ Bucket: 'lake', Key: object, Body: Buffer.concat(chunks) }));
  return rows;
}

if (warmUp > 0) await run(`${name}-warm`, warmUp);
const cpu = process.cpuUsage();
const started = performance.now();
const rows = await run(name, Number.POSITIVE_INFINITY);
const seconds = (performance.now() - started) / 1000;
const { user, system } = process.cpuUsage(cpu);
const peakMiB = process.resourceUsage().maxRSS / 1024;
console.log(JSON.stringify({ seconds, cpu: (user + system) / 1e6, rows, peakMiB }));
process.exit(0);
