import { strToU8, zipSync } from 'fflate';
import { expect, it } from 'vitest';
import { archiveChecksums } from '../../../src/write-back/sheet/archive-checksums.js';

it('the checksums of an archive are by the names of its files, also outside of ASCII', () => {
  const file = strToU8('text '.repeat(100));
  const archive = zipSync({ 'xl/ä.xml': [file, { level: 0 }], 'xl/ö.xml': [file, { level: 9 }] });
  const found = archiveChecksums(archive);
  expect([...found.keys()]).toEqual(['xl/ä.xml', 'xl/ö.xml']);
  expect(new Set(found.values()).size).toBe(1);
});
