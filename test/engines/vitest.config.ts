import { defineConfig } from 'vitest/config';

/** Compares what query engines read, with the printed statements, with the lake: `npm run test:engines`. */
export default defineConfig({
  test: {
    include: ['test/engines/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 600_000,
    // Recording a lake runs many exports, on a machine that may be busy.
    hookTimeout: 1_800_000,
    disableConsoleIntercept: true,
  },
});
