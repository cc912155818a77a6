import { defineConfig } from 'vitest/config';

/** One seed for all files; given again, it draws the same rounds. */
const seed = process.env.WORKTRACK_SEED ?? String(Date.now() % 1_000_000);
// The configuration may be read more than once.
process.env.WORKTRACK_SEED = seed;

/** The long form of what test/integration shows in short: `npm run test:chaos`. */
export default defineConfig({
  test: {
    include: ['test/chaos/**/*.test.ts'],
    pool: 'forks',
    // One file at a time: what is killed and what is measured shall not wait for other tests.
    maxWorkers: 1,
    env: { WORKTRACK_SEED: seed },
    globalSetup: ['test/support/global-setup.ts', 'test/chaos/support/print-seed.ts'],
    testTimeout: 600_000,
    hookTimeout: 120_000,
    disableConsoleIntercept: true,
  },
});
