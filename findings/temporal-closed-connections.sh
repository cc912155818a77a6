#!/usr/bin/env bash
# `NativeConnection.close` of @temporalio/worker 1.24.0 leaves the AsyncLocalStorage of the connection enabled, which `Connection.close` of
# @temporalio/client disables. On Node 20, every promise of the process passes through each one that stays, so that a process that has
# closed hundreds of connections is slower for good.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit @temporalio/worker@1.24.0 @temporalio/client@1.24.0 @grpc/grpc-js@1.14.1
cat >try.mjs <<'JS'
import { AsyncLocalStorage } from 'node:async_hooks';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
Runtime.install({ logger: new DefaultLogger('ERROR') });

// As much of a Temporal server as a connection needs: an empty answer.
const server = new Server();
const empty = (bytes) => bytes;
const method = { path: '/temporal.api.workflowservice.v1.WorkflowService/GetSystemInfo', requestStream: false, responseStream: false };
const codec = { requestSerialize: empty, requestDeserialize: empty, responseSerialize: empty, responseDeserialize: empty };
server.addService({ GetSystemInfo: { ...method, ...codec } }, { GetSystemInfo: (_, answer) => answer(null, Buffer.alloc(0)) });
const port = await new Promise((bound, failed) =>
  server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, at) => (error ? failed(error) : bound(at))),
);

let disabled = 0;
const { disable } = AsyncLocalStorage.prototype;
AsyncLocalStorage.prototype.disable = function () {
  disabled++;
  disable.call(this);
};
const COUNT = 200;
async function useAndClose(kind) {
  disabled = 0;
  for (let n = 0; n < COUNT; n++) {
    const connection = await kind.connect({ address: `127.0.0.1:${port}` });
    await connection.withDeadline(Date.now() + 60_000, () => connection.workflowService.getSystemInfo({}));
    await connection.close();
  }
  return disabled;
}
/** Microseconds of a promise, the best of five times. */
async function promises() {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    for (let n = 0; n < 200_000; n++) await null;
    best = Math.min(best, performance.now() - start);
  }
  return (best / 200).toFixed(2);
}
const before = await promises();
const ofClient = await useAndClose(Connection);
const afterClient = await promises();
const ofWorker = await useAndClose(NativeConnection);
const afterWorker = await promises();
console.log(`Node ${process.version}, ${COUNT} connections of each kind, used once and closed`);
console.log(`Connection: ${ofClient} contexts disabled, a promise takes ${afterClient} µs instead of ${before}`);
console.log(`NativeConnection: ${ofWorker} contexts disabled, a promise takes ${afterWorker} µs instead of ${afterClient}`);
process.exit(ofClient === COUNT && ofWorker === 0 ? 0 : 1);
JS
node try.mjs
