import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { longOnly } from '../../support/seeds.js';

const BENCH = fileURLToPath(new URL('../../bench/main.mjs', import.meta.url));

// Benchmarks measure, and are no part of the package.
longOnly('measures the loop, a full export and increments of a list', async () => {
  const flags = ['--sizes', '100', '--orders', 'id', '--rounds', '1', '--tables'];
  const skipped = ['--skip', 'open,store,latency,scale,write-back'];
  const { stdout } = await promisify(execFile)(process.execPath, [BENCH, ...flags, ...skipped]);
  expect(stdout.match(/list order id +[\d.]+ in rows\/s +[\d.]+ in rows per CPU second/g)).toHaveLength(1);
  for (const line of [
    /bare loop +/,
    /first full export +/,
    /increment, spread 5 % +/,
    /increment, nothing changed +/,
  ])
    expect(stdout.match(new RegExp(line, 'g'))).toHaveLength(1);
});

// The test above covers the same harness; how each open point changes the API is in the tests of the simulator.
longOnly('measures the points that the API leaves open', async () => {
  const flags = ['--sizes', '', '--open-rows', '200', '--rounds', '1'];
  const skipped = ['--skip', 'dlt,store,latency,scale,write-back'];
  const { stdout } = await promisify(execFile)(process.execPath, [BENCH, ...flags, ...skipped]);
  const lines = stdout.match(
    /^ +[\w\s,-]+[\d.]+ times the rows\/s of bare loop +[\d.]+ times its rows per CPU second$/gm,
  );
  expect(lines).toHaveLength(10);
});
