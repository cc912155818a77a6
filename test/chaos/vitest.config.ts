import { defineConfig } from 'vitest/config';

/** The long form of what test/integration shows in short: `npm run test:chaos`. */
export default defineConfig({
  test: {
    include: ['test/chaos/**/*.test.ts'],
    pool: 'forks',
    // One file at a time: what is killed and what is measured shall not wait for other tests.
    maxWorkers: 1,
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 600_000,
    hookTimeout: 120_000,
    disableConsoleIntercept: true,
  },
});
