import { defineConfig } from 'vitest/config';

/** `npm run pictures` makes docs/images again from the demo. It needs Chromium. */
export default defineConfig({
  test: { root: '.', include: ['test/pictures/*.pictures.ts'], pool: 'forks', testTimeout: 300_000 },
});
