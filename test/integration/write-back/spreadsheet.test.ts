import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommand } from '../../support/processes.js';
import { RowService, type Write } from '../../support/row-service.js';
import type { Stack } from '../../support/stack.js';
import { startWriteBackStack, stopWriteBackStack } from '../../support/write-back.js';

const ROWS = 500;
/** What the service has already shows the types and forms of the fields. */
const BEFORE = 25;
const HEADER = 'ref;description;projectId;startedAt;hours';

/** The row of a timesheet, as a spreadsheet in German writes it. */
function line(n: number): string {
  const day = String(1 + (n % 28)).padStart(2, '0');
  const hours = ['7,50', '8,00', '6,25', '0,75'][n % 4]!;
  return `A-${n};"Prüfung, Teil ""${n}""";P${1 + (n % 9)};${day}.10.2026 08:${String(n % 60).padStart(2, '0')};${hours}`;
}

/** The file of a person, with seven defects: four of the file, and three of rows. */
function timesheet(): string[] {
  const lines = [HEADER, ...Array.from({ length: ROWS }, (_, at) => line(at + 1))];
  // A time that does not exist, a key that another row has, and a project that is closed.
  lines[120] = line(120).replace(' 08:', ' 28:');
  lines[260] = line(260).replace('A-260', 'A-26');
  lines[333] = line(333).replace(/;P\d;/, ';P99;');
  // The header of the second page, and the sum at the end.
  lines.splice(251, 0, ';;;;', HEADER);
  return [...lines, ';Summe;;;2812,50'];
}

let stack: Stack;
let service: RowService;
beforeAll(async () => {
  service = await RowService.start();
  service.shows = 'list';
  for (let n = 1; n <= BEFORE; n++)
    service.records.push({
      ...{ id: `r${n}`, organization: 'one' },
      body: { description: 'Before', projectId: 'P1', startedAt: '2026-09-01T08:00:00Z', hours: n + 0.25 },
    });
  service.respond = ({ body }: Write) =>
    body.projectId === 'P99' ? { status: 422, body: '{"message":"The project P99 is closed."}' } : null;
  stack = await startWriteBackStack({ baseUrl: service.url });
  await stack.startWorker();
});
afterAll(async () => {
  await stopWriteBackStack(stack);
  await service.stop();
});

it('writes all rows of a spreadsheet with seven defects, if each command is followed by what its messages advise', async () => {
  const path = join(stack.folder, 'october.csv');
  let lines = timesheet();
  const save = (): Promise<void> =>
    writeFile(path, Buffer.from(lines.map((one) => `${one}\r\n`).join(''), 'latin1'));
  const run = (...words: string[]) => {
    // A printed command has them.
    const place = words.includes('--config')
      ? []
      : ['--config', stack.configFile, '--task-queue', stack.taskQueue];
    return runCommand(stack, [...words, ...place]);
  };
  const options = ['--no-read-back', '--key-column', 'ref'];
  const send = () => run('write-back', 'time-entries', path, ...options);
  const written = () => service.records.length - BEFORE;

  expect((await run('export', '--resource', 'time-entries')).code).toBe(0);
  await save();

  const encoding = await send();
  expect(encoding.stderr).toContain('set its encoding with --encoding, such as windows-1252');
  options.push('--encoding', 'windows-1252');

  const decimals = await send();
  expect(decimals.stderr).toContain('If the file has decimal commas, set --decimal-comma');
  options.push('--decimal-comma');

  const sum = await send();
  expect(sum.stderr).toContain(`line ${lines.length}: the row has no value in the key column "ref"`);
  lines.pop();
  await save();

  const dates = await send();
  expect(dates.stderr).toContain('--date-format');
  options.push('--date-format', 'dd.MM.yyyy HH:mm', '--timezone', 'Europe/Berlin');

  const hour = await send();
  expect(hour.stderr).toMatch(/line 121: the cell of startedAt .* found "\d\d\.10\.2026 28:00"/);
  lines = lines.map((one) => one.replace(' 28:', ' 08:'));
  await save();
  expect(written()).toBe(0);

  const sent = await send();
  expect(sent.code).toBe(1);
  expect(sent.stdout).toContain('498 created, 2 rejected');
  expect(sent.stderr).toContain('1 line without any value: skipped');
  expect(sent.stderr).toContain('1 line with the header again: skipped');
  const [, print] = /write-back (receipts .* --rejected --csv) > corrected\.csv/.exec(sent.stderr)!;
  const rejected = await run('write-back', ...print!.split(' '));
  expect(rejected.stdout).toContain('The project P99 is closed.');

  const corrected = join(stack.folder, 'corrected.csv');
  await writeFile(
    corrected,
    rejected.stdout.replace('P99', 'P9').replace('A-26;', 'A-260;').replace('A-26,', 'A-260,'),
  );
  const last = await run('write-back', 'time-entries', corrected, '--no-read-back');
  expect([last.code, last.stdout]).toEqual([0, expect.stringContaining('written, 500 created')]);

  expect(written()).toBe(ROWS);
  const descriptions = service.records.slice(BEFORE).map(({ body }) => String(body.description));
  expect(new Set(descriptions).size).toBe(ROWS);
  expect(descriptions.filter((text) => /^Prüfung, Teil "\d+"$/.test(text)).length).toBe(ROWS);
  for (const { body } of service.records.slice(BEFORE)) {
    expect(typeof body.hours).toBe('number');
    expect(Date.parse(String(body.startedAt))).toBeGreaterThan(Date.parse('2026-09-30T00:00:00Z'));
  }
});
