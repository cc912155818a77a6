import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCommand } from '../../../src/servers/run-command.js';
import type { WriteBackSource } from '../../../src/write-back/check-write-back.js';
import { InputProblems } from '../../../src/write-back/input-problems.js';
import { findPythonPackage } from '../../support/python-packages.js';
import { StagedFiles } from '../../unit/write-back/staged.js';

const SCRIPT = fileURLToPath(new URL('../../support/make-workbooks.py', import.meta.url));
const REQUIREMENTS = ['openpyxl==3.1.5', 'xlsxwriter==3.3.1'];

let files: StagedFiles;
let folder: string;
beforeAll(async () => {
  files = new StagedFiles();
  folder = await mkdtemp(join(tmpdir(), 'worktrack-'));
  const found = await findPythonPackage({ name: 'workbooks', version: '1', requirements: REQUIREMENTS });
  if ('problem' in found) throw new Error(found.problem);
  const env = { ...process.env, PYTHONPATH: found.folder };
  await runCommand('python3', [SCRIPT, folder], { env, signal: AbortSignal.timeout(60_000) });
});
afterAll(async () => {
  files.remove();
  await rm(folder, { recursive: true });
});

const TYPES = { map: { hours: 'hours:number', billable: 'billable:boolean', rate: 'rate:number' } };

async function bodiesOf(name: string, options: Partial<WriteBackSource>): Promise<unknown[]> {
  return files.bodies(`${name}.xlsx`, await readFile(join(folder, `${name}.xlsx`)), options);
}

describe('a workbook of openpyxl', () => {
  it.each(['1900', '1904'])('has the same values with the dates of %s', async (name) => {
    const options = { ...TYPES, timezone: 'Europe/Berlin', units: { hours: 'h' } };
    expect(await bodiesOf(name, options)).toEqual([
      {
        ...{ description: 'Kick-off äöü\nline 2', hours: 7.5, startedAt: '2026-11-02T07:30:00Z' },
        ...{ day: '2026-11-02', billable: true, rate: 0.155 },
      },
      {
        ...{ description: 'Quote " and, comma', hours: 30.25, startedAt: '2026-07-01T22:00:00Z' },
        ...{ day: '2026-07-02', billable: false, rate: 12 },
      },
    ]);
  });
});

it('has all of its errors listed', async () => {
  const problems = new InputProblems();
  const bytes = await readFile(join(folder, 'errors.xlsx'));
  const map = { Beschreibung: 'description', Dauer: 'duration:number', ref: 'ref:number' };
  await files.check('errors.xlsx', bytes, { sheet: 'Zeiten', map }, problems);
  const found = problems.kinds.map(({ first, count }) => `${count}, line ${first.line}: ${first.kind}`);
  expect(found).toEqual([
    '1, line 2: the cell of Dauer has a formula without a result',
    '1, line 3: the cell of ref has the error #N/A',
    expect.stringMatching(/^1, line 4: the cell of ref is a number of more than 15 digits/),
    expect.stringMatching(/^1, line 7: the cell of Beschreibung is merged with another cell/),
  ]);
  expect(await files.error('errors.xlsx', bytes)).toMatch(/several sheets: "Zeiten", "Summe", "leer"/);
});

describe('a workbook of xlsxwriter', () => {
  it('has the results of formulas, shared strings and rich text, of its visible sheet', async () => {
    expect(await bodiesOf('formulas', { ...mapOf('hours', 'billable'), timezone: 'Europe/Berlin' })).toEqual([
      { description: 'Rich text', hours: 1.5, startedAt: '2026-03-29T00:59:00Z', billable: true },
      { description: 'shared', hours: 1.1 },
      { description: 'shared', hours: 2 },
    ]);
  });
});

function mapOf(...names: readonly (keyof typeof TYPES.map)[]): Pick<WriteBackSource, 'map'> {
  return { map: Object.fromEntries(names.map((name) => [name, TYPES.map[name]])) };
}
