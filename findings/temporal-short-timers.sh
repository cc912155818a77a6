#!/usr/bin/env bash
# `temporal server start-dev` of CLI 1.5.1 (server 1.29.1) fires a timer of 100 ms after almost a second, although one of 1,100 ms is
# only some milliseconds late. The cause is `history.timerProcessorMaxTimeShift`, a second by default. The CLI is built here, which
# takes some minutes.
set -euo pipefail
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
GOBIN="$folder" GOPATH="$folder/go" GOFLAGS=-modcacherw go install github.com/temporalio/cli/cmd/temporal@v1.5.1
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit @temporalio/worker@1.20.3 @temporalio/client@1.20.3 @temporalio/workflow@1.20.3
cat >workflows.mjs <<'JS'
import { sleep } from '@temporalio/workflow';
export const wait = (ms) => sleep(ms);
JS
cat >try.mjs <<'JS'
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
Runtime.install({ logger: new DefaultLogger('ERROR') });
async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  await new Promise((closed) => server.close(closed));
  return port;
}
async function connected(address) {
  for (;;) {
    const connection = await Connection.connect({ address }).catch(() => null);
    if (connection !== null) return connection;
    await pause(200);
  }
}
/** For each timer, the median of five times between its two events, in milliseconds. */
async function measure(timers, ...more) {
  const port = await freePort();
  const args = ['server', 'start-dev', '--headless', '--ip', '127.0.0.1', '--port', String(port), '--log-level', 'never', ...more];
  const server = spawn('./temporal', args, { stdio: 'ignore', env: { ...process.env, USER: 'user', HOME: process.cwd() } });
  const address = `127.0.0.1:${port}`;
  const connection = await connected(address);
  const native = await NativeConnection.connect({ address });
  const workflowsPath = new URL('workflows.mjs', import.meta.url).pathname;
  const worker = await Worker.create({ connection: native, taskQueue: 'timers', workflowsPath });
  const { workflow } = new Client({ connection });
  const atMs = ({ seconds, nanos }) => Number(seconds) * 1000 + nanos / 1e6;
  const took = await worker.runUntil(async () => {
    const medians = [];
    for (const ms of timers) {
      const times = [];
      for (let round = 0; round < 5; round++) {
        const handle = await workflow.start('wait', { args: [ms], taskQueue: 'timers', workflowId: `${ms}-${round}` });
        await handle.result();
        const { events } = await handle.fetchHistory();
        const at = (field) => atMs(events.find((event) => event[field]).eventTime);
        times.push(at('timerFiredEventAttributes') - at('timerStartedEventAttributes'));
      }
      medians.push(Math.round(times.sort((a, b) => a - b)[2]));
    }
    return medians;
  });
  await connection.close();
  await native.close();
  server.kill();
  await once(server, 'exit');
  return took;
}
const timers = [100, 1100];
const normal = await measure(timers);
const shifted = await measure(timers, '--dynamic-config-value', 'history.timerProcessorMaxTimeShift="1ms"');
for (const [at, ms] of timers.entries())
  console.log(`a timer of ${ms} ms took ${normal[at]} ms, and with timerProcessorMaxTimeShift="1ms" ${shifted[at]} ms`);
const isLate = normal[0] >= 700 && normal[1] < 1900;
if (!isLate || shifted[0] >= 600) process.exitCode = 1;
JS
./temporal --version
node try.mjs
