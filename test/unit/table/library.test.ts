import { afterEach, expect, it, vi } from 'vitest';

afterEach(() => {
  vi.doUnmock('hyparquet-writer');
  vi.resetModules();
});

it('names the command that installs the Parquet packages if they are missing', async () => {
  // Other files of this worker may have loaded the packages.
  vi.resetModules();
  vi.doMock('hyparquet-writer', () => {
    throw new Error("Cannot find package 'hyparquet-writer'");
  });
  const { parquetLibrary } = await import('../../../src/table/parquet/library.js');
  await expect(parquetLibrary()).rejects.toMatchObject({
    name: 'ConfigurationError',
    remedy: expect.stringContaining('npm install hyparquet-writer@~0.17.0 hyparquet@~1.31.5'),
  });
});
