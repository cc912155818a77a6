import { defineConfig } from 'vitest/config';

/** A unit test ends within 5 s. A CI machine may be busy with other work. */
const UNIT_TIMEOUT_MS = process.env.CI === undefined ? 5_000 : 30_000;

/**
 * Two projects. `unit` needs no server and finishes within a minute; `integration` starts real servers once
 * (`test/support/global-setup.ts`) and shares them among its files.
 */
export default defineConfig({
  test: {
    pool: 'forks',
    // Integration files start workers and servers, so more than two at a time only slow each other down.
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          sequence: { groupOrder: 0 },
          testTimeout: UNIT_TIMEOUT_MS,
          hookTimeout: UNIT_TIMEOUT_MS,
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
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
