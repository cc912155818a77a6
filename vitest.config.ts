import { accessSync, constants, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { defineConfig } from 'vitest/config';
import { SlowestFirst } from './test/support/slowest-first.js';

/**
 * One fresh seed for all random tests of a run, which the report of a failure names (test/support/seeds.ts). The
 * configuration may be read more than once.
 */
process.env.WORKTRACK_FRESH_SEED ??= String(Date.now() % 1_000_000);
const isLong = process.env.WORKTRACK_LONG !== undefined;

/**
 * `WORKTRACK_ORDER=<seed>`: files, and the tests in them, in a random order. Vitest 4 takes it only from here: in a project it has no
 * effect (vitest-dev/vitest#10659), and its own options also replace `groupOrder`.
 */
const { WORKTRACK_ORDER: order } = process.env;
const seed = Number(order);
if (order && !Number.isInteger(seed)) throw new Error(`WORKTRACK_ORDER must be an integer, and is ${order}.`);
const sequence = order ? { seed, shuffle: { files: true, tests: true } } : { sequencer: SlowestFirst };

/** Where the lakes of tests are: in memory if there is room, because they wait for each of thousands of flushes to a disk. */
function lakesFolder(): string {
  const inMemory = '/dev/shm';
  try {
    accessSync(inMemory, constants.W_OK);
    const { bavail, bsize } = statfsSync(inMemory);
    return bavail * bsize > 4 * 2 ** 30 ? inMemory : tmpdir();
  } catch {
    return tmpdir();
  }
}

/**
 * Two projects. `unit` needs no server, and of a build only the process that converts tables; `integration` starts real servers once
 * (`test/support/global-setup.ts`), shares them among its files, and uses `dist`.
 */
export default defineConfig({
  test: {
    pool: 'forks',
    sequence,
    // Both projects, and the next run, take the compiled modules from node_modules/.experimental-vitest-cache.
    experimental: { fsModuleCache: true },
    reporters: ['default', 'test/support/failure-reporter.ts'],
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          // More than the cores of a small machine, because files wait for sockets, for the disk and for timers.
          maxWorkers: 3,
          include: ['test/unit/**/*.test.ts'],
          sequence: { groupOrder: 0 },
          // Files share the modules of their process, which would otherwise be loaded again for each of them.
          isolate: false,
          env: { TMPDIR: lakesFolder() },
          unstubEnvs: true,
          restoreMocks: true,
          setupFiles: ['test/support/one-seed.ts', 'test/support/note-failure.ts'],
          // Long enough for a machine that is ten times slower, or that stands still for minutes.
          testTimeout: isLong ? 3_600_000 : 600_000,
          hookTimeout: 600_000,
          expect: { poll: { timeout: 60_000 } },
        },
      },
      {
        extends: true,
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts', 'test/replay/**/*.test.ts'],
          // After the unit tests, whose time limits would not hold beside workers and servers.
          sequence: { groupOrder: 1 },
          globalSetup: ['test/support/global-setup.ts'],
          env: isLong ? {} : { WORKTRACK_TEST_LAKES: lakesFolder() },
          isolate: false,
          // Four times the cores of a small machine, because each file waits for servers and timers most of its time.
          maxWorkers: 8,
          setupFiles: ['test/support/note-failure.ts', 'test/support/own-process.ts'],
          // Longer than a wait of `until` (test/support/stack.ts), whose error says what did not come.
          testTimeout: isLong ? 3_600_000 : 600_000,
          hookTimeout: 600_000,
          expect: { poll: { timeout: 250_000 } },
        },
      },
    ],
  },
});
