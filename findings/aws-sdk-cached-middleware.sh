#!/usr/bin/env bash
# @aws-sdk/client-s3 3.1175.0 with `cacheMiddleware: true` shares the context of a request, with its endpoint, among all requests of one
# kind that are under way. Three objects for three buckets, sent at the same time, all go to the third bucket.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit @aws-sdk/client-s3@3.1175.0
cat >try.mjs <<'JS'
import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3';

/** Where requests would be sent. They are answered here. */
async function hostsOf(cacheMiddleware) {
  const hosts = [];
  const handle = async ({ hostname }) => {
    hosts.push(hostname);
    return { response: { statusCode: 200, headers: {}, body: new Uint8Array() } };
  };
  const credentials = { accessKeyId: 'someone', secretAccessKey: 'made up' };
  const client = new S3Client({ region: 'eu-central-1', credentials, cacheMiddleware, requestHandler: { handle } });
  const send = (Bucket) => client.send(new PutObjectCommand({ Bucket, Key: 'a', Body: Bucket }));
  await Promise.allSettled(['first', 'second', 'third'].map(send));
  return hosts.map((host) => host.split('.')[0]);
}

const [plain, cached] = [await hostsOf(false), await hostsOf(true)];
console.log(`Node ${process.version}, buckets of three requests without the cache:`, plain.join(), '- with it:', cached.join());
if (plain.join() !== 'first,second,third' || new Set(cached).size !== 1) {
  console.log('This has changed.');
  process.exit(1);
}
JS
node try.mjs
