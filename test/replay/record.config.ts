import { defineConfig } from 'vitest/config';

/** `npm run replay:record` records the histories again on a real server. */
export default defineConfig({
  test: {
    root: '.',
    include: ['test/replay/record/*.record.ts'],
    pool: 'forks',
    maxWorkers: 1,
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 120_000,
  },
});
