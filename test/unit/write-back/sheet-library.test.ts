import { expect, it, vi } from 'vitest';

// Alone in its file, because other tests would get modules of both kinds.
it('a workbook without the packages to read it names those to install', async () => {
  vi.resetModules();
  vi.doMock('saxes', () => {
    throw new Error("Cannot find package 'saxes'");
  });
  const { sheetLibrary } = await import('../../../src/write-back/sheet/sheet-library.js');
  await expect(sheetLibrary()).rejects.toMatchObject({
    code: 'CONFIGURATION',
    remedy: expect.stringMatching(
      /^Install them next to temporal-worktrack: npm install fflate@~0\.8\.3 saxes@\^6\.0\.0/,
    ),
  });
  vi.doUnmock('saxes');
});
