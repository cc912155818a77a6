import { afterEach, expect, it, vi } from 'vitest';

afterEach(() => {
  vi.doUnmock('node:module');
  vi.resetModules();
});

it('names what needs DuckDB, and the command that installs it, if it is missing', async () => {
  // Other files of this worker may have loaded the package.
  vi.resetModules();
  const missing = () => {
    throw new Error("Cannot find module '@duckdb/node-api'\nRequire stack:");
  };
  vi.doMock('node:module', () => ({ createRequire: () => Object.assign(missing, { resolve: missing }) }));
  const { duckDbLibrary, requireDuckDb } = await import('../../../src/core/duckdb-library.js');
  for (const use of [() => duckDbLibrary('query'), () => requireDuckDb('query')])
    expect(use).toThrow(
      expect.objectContaining({
        name: 'ConfigurationError',
        message: "query needs DuckDB, which cannot be loaded: Cannot find module '@duckdb/node-api'.",
        remedy: expect.stringContaining('npm install @duckdb/node-api@1.5.5-r.5'),
      }),
    );
});
