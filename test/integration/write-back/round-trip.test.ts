import { readFile } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { DEMO_KEY } from '../../../src/simulator/index.js';
import { runCommand } from '../../support/processes.js';
import { drawn } from '../../support/seeds.js';
import type { Stack } from '../../support/stack.js';
import {
  fileIn,
  readReceipts,
  recordsOf,
  startWriteBackStack,
  stopWriteBackStack,
  writeBack,
} from '../../support/write-back.js';

const CALENDAR = 'calendar-entries';

/** What the service shows, by pair, without the time of the change. */
function entriesOf(stack: Stack): Map<string, Record<string, unknown>> {
  return new Map(
    recordsOf(stack, CALENDAR).map(({ updatedAt: _, ...record }) => [
      JSON.stringify([record.source, record.sourceKey]),
      record,
    ]),
  );
}

/** Puts an entry into the service, past worktrack. */
async function put(stack: Stack, source: string, sourceKey: string, body: object): Promise<void> {
  const path = [source, sourceKey].map(encodeURIComponent).join('/');
  const response = await fetch(`${stack.simulator.url}/api/public/v2/${CALENDAR}/${path}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${DEMO_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(201);
}

const NESTED = {
  title: 'Größe "XL"\nand, more',
  startsAt: '2026-11-20T08:00:00Z',
  owner: { id: 'M1', address: { city: 'Köln', zip: '00501' }, tags: ['a', { b: 1.5 }] },
  note: '=1+1',
  factor: 12.25,
};

describe('export, edit and import of calendar entries', () => {
  let stack: Stack;
  afterEach(() => stopWriteBackStack(stack));

  const options: [what: string, csv: string][] = [
    ['nested: json', '{ nested: json }'],
    ['nested: flatten', '{ nested: flatten }'],
    [
      'other separators, escaped',
      '{ nested: flatten, separator: "__", delimiter: ";", lineBreaks: escape, escapeFormulas: true }',
    ],
  ];
  const cases = options.flatMap(([what, csv]) =>
    (['csv', 'json'] as const).map((form) => ({ what, csv, form })),
  );
  const isRichest = (one: (typeof cases)[number]): boolean =>
    one.what.startsWith('other') && one.form === 'csv';
  for (const { what, csv, form } of drawn(cases, 1, isRichest)) {
    it(`changes the changed cell and nothing else: ${what}, ${form}`, async () => {
      stack = await startWriteBackStack({
        simulator: { counts: { [CALENDAR]: 30 } },
        resources: `[{ name: ${CALENDAR}, window: 90d, key: [source, sourceKey] }]`,
        yaml: `    csv: ${csv}\n`,
      });
      await stack.startWorker();
      await put(stack, 'cal', 'key/1 ?#%', NESTED);
      expect(await stack.export()).toMatchObject({ outcome: 'published' });
      const before = entriesOf(stack);

      const config = ['--config', stack.configFile];
      const cat = await runCommand(stack, [
        ...['cat', CALENDAR, '--limit', '0', ...config],
        ...(form === 'json' ? ['--json'] : []),
      ]);
      expect(cat.code, cat.stderr).toBe(0);
      const edited = cat.stdout.replace('M1', 'M2');
      expect(edited).not.toBe(cat.stdout);
      const file = await fileIn(stack, edited, form);
      const args = ['write-back', CALENDAR, file, '--json', '--task-queue', stack.taskQueue, ...config];
      const { code, stdout, stderr } = await runCommand(stack, args);
      expect(code, stderr).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ outcome: 'written', counts: { updated: 31, created: 0 } });
      expect(stderr.split('\n').filter((line) => line.includes('warning'))).toEqual([]);

      const pair = JSON.stringify(['cal', 'key/1 ?#%']);
      const expected = new Map(before);
      const changed = before.get(pair)!;
      expected.set(pair, { ...changed, owner: { ...NESTED.owner, id: 'M2' } });
      expect(entriesOf(stack)).toEqual(expected);
      expect(await readFile(file, 'utf8')).toBe(edited);
    });
  }

  for (const nested of drawn(['json', 'flatten'], 1)) {
    it(`keeps awkward names and values, apart from columns of several types: nested: ${nested}`, async () => {
      stack = await startWriteBackStack({
        simulator: { awkward: true, awkwardEvery: 1, counts: { [CALENDAR]: 60 } },
        resources: `[{ name: ${CALENDAR}, window: 90d, key: [source, sourceKey] }]`,
        yaml: `    csv: { nested: ${nested} }\n`,
      });
      await stack.startWorker();
      expect(await stack.export()).toMatchObject({ outcome: 'published' });
      const before = entriesOf(stack);
      const config = ['--config', stack.configFile];
      const cat = await runCommand(stack, ['cat', CALENDAR, '--limit', '0', ...config]);
      const file = await fileIn(stack, cat.stdout);
      const args = ['write-back', CALENDAR, file, '--task-queue', stack.taskQueue, ...config];
      const mixed = await runCommand(stack, [...args, '--dry-run']);
      expect(mixed.code, mixed.stderr).toBe(0);
      const names = [...mixed.stderr.matchAll(/published values of "(.*)" have several types/g)];
      expect(names.map(([, name]) => name)).toEqual(nested === 'json' ? ['__proto__'] : []);
      const drop = names.flatMap(([, name = '']) => ['--drop-column', name]);
      const { code, stderr } = await runCommand(stack, [...args, ...drop]);
      expect(code, stderr).toBe(0);
      // UTF-8 cannot carry a lone surrogate, so the lake does not have it.
      const shown = (records: ReadonlyMap<string, unknown>) =>
        [...records].map((one) => JSON.stringify(one).replaceAll('\\ud800', '\ufffd')).sort();
      expect(shown(entriesOf(stack))).toEqual(shown(before));
    });
  }

  it('does not write the hashes of masked columns into the service', async () => {
    stack = await startWriteBackStack({
      simulator: { counts: { [CALENDAR]: 3 } },
      resources: `[{ name: ${CALENDAR}, window: 90d, key: [source, sourceKey], columns: { mask: { title: redact } } }]`,
    });
    await stack.startWorker();
    expect(await stack.export()).toMatchObject({ outcome: 'published' });
    const config = ['--config', stack.configFile];
    const cat = await runCommand(stack, ['cat', CALENDAR, ...config]);
    const file = await fileIn(stack, cat.stdout);
    const args = ['write-back', CALENDAR, file, '--dry-run', ...config];
    const masked = await runCommand(stack, args);
    expect([masked.code, masked.stderr]).toEqual([2, expect.stringContaining('--drop-column title')]);
    expect((await runCommand(stack, [...args, '--drop-column', 'title'])).code).toBe(0);
  });

  it('is read by the worker as it was checked: delimiter, encoding, decimal comma, dates and left out columns', async () => {
    stack = await startWriteBackStack();
    await stack.startWorker();
    const csv =
      'ref;description;durationSeconds:integer;hourlyRate:number;startedAt\r\nR1;Pr\xfcfung;60;1.234,50;02.11.2026 08:00\r\n;;;;\r\n';
    const file = await fileIn(stack, Buffer.from(csv, 'latin1'));
    const settings = {
      encoding: 'latin1',
      decimalComma: true,
      dateFormats: ['dd.MM.yyyy HH:mm'],
      timezone: 'Europe/Berlin',
      keyColumn: 'ref',
      dropColumns: ['ref'],
    };
    const result = await writeBack(stack, { resource: 'time-entries', file, ...settings });
    expect(result).toMatchObject({ outcome: 'written', rows: 1, counts: { created: 1 } });
    const [{ id: _, createdAt: _1, updatedAt: _2, ...record } = {}] = recordsOf(stack, 'time-entries');
    expect(record).toEqual({
      description: 'Prüfung',
      durationSeconds: 60,
      hourlyRate: 1234.5,
      startedAt: '2026-11-02T07:00:00Z',
    });
    expect(await readReceipts(stack, result.batchId)).toMatchObject([{ key: 'R1', outcome: 'created' }]);
  });
});
