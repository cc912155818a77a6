import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { optionWords, readingOptions, saveInput } from '../../../src/cli/write-back/input-options.js';
import { checkForDryRun, completeLists } from '../../../src/cli/write-back/list-problems.js';
import { loadSettings } from '../../../src/config/index.js';
import { sameDecimal } from '../../../src/core/decimal.js';
import { InputError } from '../../../src/core/input-error.js';
import { checkWriteBack, type WriteBackSource } from '../../../src/write-back/check-write-back.js';
import { delimiterOf } from '../../../src/write-back/input-format.js';
import { InputProblems } from '../../../src/write-back/input-problems.js';
import { proposeOptions } from '../../../src/write-back/propose-options.js';
import { inUnit, unitOf } from '../../../src/write-back/units.js';
import { ENTRY_COLUMNS, entryRows, StagedFiles } from './staged.js';

describe('a cell in another unit', () => {
  it.each<[string, string, string | null]>([
    ['7.5', 'h:s', '27000'],
    ['0.1', 'h:s', '360'],
    ['1', 's:h', null],
    ['90', 'min:h', '1.5'],
    ['-1.5', 'h:min', '-90'],
    ['0', 'h:s', '0'],
    ['7:30', 'h:s', '27000'],
    ['30:15:30', 'h:min', '1815.5'],
    ['0:00:00.5', 'h:ms', '500'],
    ['7:60', 'h:s', null],
    ['7,5', 'h:s', null],
    ['1e3', 'h:s', null],
    ['', 'h:s', null],
  ])('%s is %s: %s', (text, unit, expected) => expect(inUnit(text, unitOf('x', unit))).toBe(expected));

  it('comes back', () => {
    const units = fc.constantFrom('ms', 's', 'min', 'h', 'd');
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999_999 }), units, (count, from) => {
        const ms = inUnit(String(count), unitOf('x', `${from}:ms`))!;
        expect(sameDecimal(inUnit(ms, unitOf('x', `ms:${from}`))!, String(count))).toBe(true);
      }),
    );
  });

  it.each([
    ['durationSeconds', 'h', { from: 'h', to: 's' }],
    ['durationMinutes', 'h', { from: 'h', to: 'min' }],
    ['hours', 'min', { from: 'min', to: 'h' }],
    ['durationMs', 's', { from: 's', to: 'ms' }],
    ['durationMilliseconds', 's', { from: 's', to: 'ms' }],
    ['DURATION_MS', 's', { from: 's', to: 'ms' }],
    ['elapsedMsecs', 's', { from: 's', to: 'ms' }],
    ['runSecs', 'h', { from: 'h', to: 's' }],
    ['items', 'h:s', { from: 'h', to: 's' }],
    ['duration', 'h:s', { from: 'h', to: 's' }],
  ])('has the unit of the name %s', (field, text, unit) => expect(unitOf(field, text)).toEqual(unit));

  it.each([
    ['duration', 'h'],
    ['items', 'h'],
    ['durationMicroseconds', 'h'],
    ['durationNanosecs', 'h'],
    ['elapsedUsec', 'h'],
    ['durationCentiseconds', 'h'],
    ['durationSeconds', 'weeks'],
    ['durationSeconds', 'h:s:s'],
    ['durationSeconds', ''],
  ])('needs a unit that is known: %s=%s', (field, text) => expect(() => unitOf(field, text)).toThrow());
});

let files: StagedFiles;
beforeAll(async () => {
  files = new StagedFiles();
  await files.publish('time-entries', ENTRY_COLUMNS, entryRows(25));
});
afterAll(() => files.remove());

const CSV = 'Beschreibung;Dauer (h);Abrechenbar\nKick-off;7,5;WAHR\nEnde;0:45;falsch\n';
const OPTIONS: Partial<WriteBackSource> = {
  ...{ decimalComma: true, trueWords: ['WAHR'], falseWords: ['FALSCH'], units: { durationSeconds: 'h' } },
  map: { Beschreibung: 'description', 'Dauer (h)': 'durationSeconds', Abrechenbar: 'billable' },
};

describe('the options of a file', () => {
  it('give columns other names, words and units', async () => {
    expect(await files.bodies('a.csv', CSV, OPTIONS)).toEqual([
      { description: 'Kick-off', durationSeconds: 27000, billable: true },
      { description: 'Ende', durationSeconds: 2700, billable: false },
    ]);
  });

  it('are part of the batch if they change what is sent, and only then', async () => {
    const same = 'description\na\n';
    const id = async (text: string, options = {}) => (await files.check('a.csv', text, options)).batchId;
    expect(await id(CSV, OPTIONS)).not.toBe(await id(CSV, { ...OPTIONS, units: { durationSeconds: 'min' } }));
    const profile = { trueWords: ['WAHR'], falseWords: ['FALSCH'] };
    expect(await id(same, profile)).toBe(await id(same));
  });

  it('are no part of the batch if they change nothing', async () => {
    const id = async (text: string, options = {}) => (await files.check('a.csv', text, options)).batchId;
    const words = 'billable\nJa\nNEIN\ntrue\n';
    const some = { trueWords: ['ja'], falseWords: ['nein'] };
    const same = { trueWords: ['x', 'JA', 'TRUE'], falseWords: ['0', 'Nein', 'false'] };
    expect(await id(words, same)).toBe(await id(words, some));
    const plain = 'billable,durationSeconds\nTRUE,60\nfalse,90\n';
    const more = { map: { billable: 'billable' }, units: { durationSeconds: 's' }, trueWords: ['true'] };
    expect(await id(plain, more)).toBe(await id(plain));
    // A unit also makes an unknown column one of numbers.
    expect(await id('hours\n1\n', { units: { hours: 'h' } })).not.toBe(await id('hours\n1\n'));
  });

  it('never make true false', async () => {
    const swapped = { trueWords: ['false'], falseWords: ['true'] };
    expect(await files.bodies('a.csv', 'billable\ntrue\nFALSE\n', swapped)).toEqual([
      { billable: true },
      { billable: false },
    ]);
  });

  it.each([
    ['1.500', 'durationSeconds', /a dot that may group digits.*<1\.500>/],
    ['1.500', 'rate', /a dot that may group digits.*<1\.500>/],
    ['7.30', 'durationSeconds', /a dot that may group digits/],
    ['1,500,000', 'durationSeconds', /is not a number in min/],
  ])(
    'are an error for a number that is not clear with a decimal comma: %s in %s',
    async (cell, field, problem) => {
      const options = { decimalComma: true, units: { durationSeconds: 'min' } };
      const text = `durationSeconds;rate\n${field === 'rate' ? `;${cell}` : `${cell};`}\n`;
      expect(await files.error('a.csv', text, options)).toMatch(problem);
    },
  );

  it('convert numbers with a decimal comma, and durations', async () => {
    const options = { decimalComma: true, units: { durationSeconds: 'min' } };
    const text = 'durationSeconds;x\n1.500,5;\n1:30;\n90;\n0,5;\n';
    const found = await files.bodies('a.csv', text, options);
    expect(found).toEqual([90_030, 5_400, 5_400, 30].map((durationSeconds) => ({ durationSeconds })));
  });

  it('from the configuration concern each file, and those of a command replace them', async () => {
    const { trueWords, falseWords, ...more } = OPTIONS;
    const others = { timezone: 'Europe/Berlin', sheet: 'Zeiten', dropColumns: ['nothing'] };
    const input = JSON.stringify({ ...more, ...others, true: trueWords, false: falseWords });
    const profiled = new StagedFiles(`writeBack: { time-entries: { input: ${input} } }`);
    await profiled.publish('time-entries', ENTRY_COLUMNS, entryRows(25));
    const bodies = await profiled.bodies('a.csv', CSV);
    expect(bodies).toEqual(await files.bodies('a.csv', CSV, OPTIONS));
    expect(
      await profiled.bodies('a.csv', 'durationSeconds\n2\n', { units: { durationSeconds: 'min' } }),
    ).toEqual([{ durationSeconds: 120 }]);
    expect(await profiled.bodies('a.ndjson', '{"billable":"WAHR"}\n', { textColumns: ['billable'] })).toEqual(
      [{ billable: 'WAHR' }],
    );
    profiled.remove();
  });

  it.each<[Partial<WriteBackSource>, RegExp]>([
    [{ map: { Nichts: 'description' } }, /no column "Nichts" that has another name\. Correct --map/],
    [{ units: { hours: 'min' } }, /no column "hours" with a unit\. Correct --unit/],
    [
      { units: { description: 'h' } },
      /does not say the unit of its values\. Add it after a colon: description=h:s/,
    ],
    [{ map: { description: 'day', durationSeconds: 'day' } }, /names "day" twice/],
    [{ sheet: 'x' }, /--sheet is an option for xlsx/],
  ])('fit the file: %j', async (options, problem) => {
    expect(await files.error('a.csv', 'description,durationSeconds\na,1\n', options)).toMatch(problem);
  });

  it.each([{ map: { a: 'b' } }, { trueWords: ['x'] }, { units: { hours: 'h' } }])(
    'are none of JSON: %j',
    async (options) => {
      expect(await files.error('a.json', '[{"description":"a"}]', options)).toMatch(
        /is an option for csv and xlsx/,
      );
    },
  );

  it('are kept in the configuration with its comments', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'worktrack-'));
    const config = join(folder, 'worktrack.yaml');
    const yaml = `connections:
  acme:
    baseUrl: https://tracker.example.com # ours
    apiKey: { env: K }
    lake: { url: "file:///srv/lake" }
`;
    await writeFile(config, yaml);
    const given = readingOptions({
      ...{ map: ['Dauer (h)=durationSeconds', 'a=b=c'], true: ['WAHR'], false: ['FALSCH'] },
      ...{ unit: ['durationSeconds=h'], dateFormat: ['dd.MM.yyyy'], decimalComma: true, sheet: 'Zeiten' },
    });
    await saveInput('acme', 'time-entries', given, { config });
    await saveInput('acme', 'time-entries', { map: { Neu: 'day' } }, { config });
    expect(await readFile(config, 'utf8')).toContain('.com # ours');
    const { connections } = loadSettings({ file: config, env: {}, cwd: folder });
    expect(connections[0]!.writeBack['time-entries'].input).toEqual({
      ...{ sheet: 'Zeiten', decimalComma: true, dateFormats: ['dd.MM.yyyy'] },
      ...{ trueWords: ['WAHR'], falseWords: ['FALSCH'], units: { durationSeconds: 'h' } },
      map: { 'Dauer (h)': 'durationSeconds', 'a=b': 'c', Neu: 'day' },
    });
    await rm(folder, { recursive: true });
  });

  it.each(['a\nb', 'a"b', 'a\\b', 'a.b', 'a: b', '*a', ' a', 'ä\u0001', ''])(
    'are kept with the header %j, and a tab',
    async (header) => {
      const folder = await mkdtemp(join(tmpdir(), 'worktrack-'));
      const config = join(folder, 'worktrack.yaml');
      const yaml =
        'connections:\n  acme: { baseUrl: "https://a.example.com", apiKey: { env: K }, lake: { url: "file:///x" } }\n';
      for (const delimiter of ['\\t', 'TAB', '\t']) {
        await writeFile(config, yaml);
        const path = await saveInput(
          'acme',
          'time-entries',
          { map: { [header]: 'day' }, delimiter },
          { config },
        );
        expect(path).toBe('connections.acme.writeBack.time-entries.input');
        const { input } = loadSettings({ file: config, env: {}, cwd: folder }).connections[0]!.writeBack[
          'time-entries'
        ];
        expect(input?.map).toEqual({ [header]: 'day' });
        expect(delimiterOf(input?.delimiter ?? '')).toBe('\t');
      }
      await rm(folder, { recursive: true });
    },
  );
});

async function problemsOf(
  text: string | Buffer,
  options: Partial<WriteBackSource> = {},
): Promise<InputProblems> {
  const problems = new InputProblems();
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-'));
  const file = join(folder, 'a.csv');
  await writeFile(file, text);
  const request = { resource: 'time-entries', file, ...options };
  await checkWriteBack(files.connection, files.store, request, problems);
  await rm(folder, { recursive: true });
  return problems;
}

/** What a dry run prints for people about a file with errors. */
async function printedOf(content: string, options: Partial<WriteBackSource> = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'worktrack-'));
  const file = join(folder, 'a.csv');
  await writeFile(file, content);
  let text = '';
  const printed = vi.spyOn(process.stderr, 'write').mockImplementation((more) => {
    text += String(more);
    return true;
  });
  await checkForDryRun(files.connection, files.store, { resource: 'time-entries', file, ...options }, {});
  printed.mockRestore();
  await rm(folder, { recursive: true });
  return text;
}

const GERMAN = Buffer.from(
  [
    'description;durationSeconds;rate;startedAt;billable',
    'Pr\xfcfung;7:30;1,5;02.11.2026 08:00;WAHR',
    'b;0:45;1.234,50;13.11.2026 08:00;FALSCH',
    'c;60;1,5;14.11.2026 08:00;FALSCH',
  ].join('\r\n'),
  'latin1',
);

describe('all errors of a file', () => {
  it('are all counted, and listed with at most 50 kinds and 200 different cells of each', () => {
    const problems = new InputProblems();
    const add = (kind: string, value: string) =>
      problems.add(new InputError('wrong', { line: 1, kind, value }));
    for (let value = 1; value <= 201; value++) for (let twice = 1; twice <= 2; twice++) add('0', `${value}`);
    for (let kind = 1; kind <= 51; kind++) add(`${kind}`, 'x');
    const { kinds, others } = problems;
    expect([kinds[0]!.count, kinds[0]!.values.size, kinds.length, others]).toEqual([402, 200, 50, 2]);
  });

  it('are counted by kind, each with its first line', async () => {
    const { kinds } = await problemsOf(GERMAN);
    expect(kinds.map(({ first, count }) => [first.line, count, first.kind.slice(0, 40)])).toEqual([
      [2, 1, 'the text is not UTF-8'],
      [2, 2, 'the cell of durationSeconds is not an in'],
      [2, 3, 'the cell of rate is not a JSON number; i'],
      [2, 3, 'the cell of billable is not true or fals'],
      [2, 3, 'the cell of startedAt is not a time in I'],
    ]);
  });

  it('give the options that correct them', async () => {
    const proposed = proposeOptions((await problemsOf(GERMAN)).kinds, 'Europe/Berlin');
    expect(optionWords(proposed).join(' ')).toBe(
      '--encoding windows-1252 --decimal-comma --date-format dd.MM.yyyy HH:mm --timezone Europe/Berlin --true WAHR --false FALSCH --unit durationSeconds=h',
    );
    expect((await problemsOf(GERMAN, proposed)).kinds).toEqual([]);
  });

  it('give lists with the members that the configuration has', async () => {
    const inUse = { dateFormats: ['yyyy/MM/dd'], trueWords: ['oui'], dropColumns: ['id'] };
    const proposed = { dateFormats: ['dd.MM.yyyy'], trueWords: ['WAHR'], falseWords: ['FALSCH'] };
    expect(completeLists(proposed, {}, inUse)).toEqual({
      ...{ dateFormats: ['yyyy/MM/dd', 'dd.MM.yyyy'], trueWords: ['oui', 'WAHR'], falseWords: ['FALSCH'] },
    });
    // The words are added to those of the command.
    expect(completeLists(proposed, { dateFormats: ['yyyy/MM/dd'] }, inUse)).toMatchObject({
      dateFormats: ['dd.MM.yyyy'],
    });
  });

  it('come with options that complete those of the configuration', async () => {
    const input = JSON.stringify({ dateFormats: ['dd.MM.yyyy'], true: ['oui'], map: { Tag: 'day' } });
    const profiled = new StagedFiles(`writeBack: { time-entries: { input: ${input} } }`);
    await profiled.publish('time-entries', ENTRY_COLUMNS, entryRows(25));
    const folder = await mkdtemp(join(tmpdir(), 'worktrack-'));
    const file = join(folder, 'a.csv');
    await writeFile(file, 'Tag,billable\n13.11.2026,oui\n11/14/2026,WAHR\n11/15/2026,FALSCH\n');
    const printed = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const request = { resource: 'time-entries', file };
    const found = await checkForDryRun(profiled.connection, profiled.store, request, { json: true });
    const [text] = printed.mock.calls.map(([one]) => String(one));
    printed.mockRestore();
    expect(found).toBe(2);
    expect(JSON.parse(text!)).toMatchObject({
      options: [
        ...['--date-format', 'dd.MM.yyyy', '--date-format', 'MM/dd/yyyy'],
        ...['--true', 'oui', '--true', 'WAHR', '--false', 'FALSCH'],
      ],
      remaining: [],
    });
    profiled.remove();
    await rm(folder, { recursive: true });
  });

  it('print a remedy once, although they are left with the options', async () => {
    const units = { durationSeconds: 'h' };
    const text = await printedOf('durationSeconds;billable\n1,5;WAHR\nx;FALSCH\n', { units });
    expect(text).toContain('With them, errors of 1 kind would be left:');
    expect(text.match(/the cell of durationSeconds/g)).toHaveLength(2);
    expect(text.match(/An empty unquoted cell omits the field/g)).toHaveLength(2);
    // The unit is set already.
    expect(text).not.toContain('--unit');
  });

  it.each(['2026-02-13', '13.02.2026'])(
    'give no date format for the day %s in a column of times',
    async (cell) => {
      const { kinds } = await problemsOf(`startedAt\n${cell}\n`);
      const remedy =
        'Write the time and its zone, too (2026-11-02T08:00:00Z), or send it as text: in a CSV, name the column `startedAt:string`; ' +
        'in JSON, set --text-column startedAt. A date format cannot add it.';
      const same = {
        kind: 'the cell of startedAt is a date without a time, and all published values have one',
        remedy,
      };
      expect(kinds.map(({ first }) => first)).toMatchObject([same]);
      // With a date format, the error is the same, and names no other one.
      const tried = await problemsOf('startedAt\n13.02.2026\n', { dateFormats: ['dd.MM.yyyy'] });
      expect(tried.kinds.map(({ first }) => first)).toMatchObject([same]);
      const other = await problemsOf(`startedAt\n${cell}\n02.11.2026 08:00\n`, {
        ...{ dateFormats: ['dd.MM.yyyy HH:mm'], timezone: 'UTC' },
      });
      expect(proposeOptions(other.kinds, 'UTC')).toEqual({});
    },
  );

  it('say that the proposed time zone is that of this machine', async () => {
    const lines = await printedOf('startedAt\n13.11.2026 08:00\n');
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    expect(lines).toContain(`--timezone ${timeZone}\n`);
    expect(lines).toContain(`${timeZone} is the time zone of this machine: replace it by that of the file`);
    expect(await printedOf('durationSeconds;day\n1,5;13.11.2026\n')).not.toContain('time zone');
  });

  it('are listed up to 50 kinds', async () => {
    const names = Array.from({ length: 60 }, (_, at) => `c${at}:integer`);
    const problems = await problemsOf(`${names.join()}\n${names.map(() => 'x').join()}\n`);
    expect([problems.kinds.length, problems.others]).toEqual([50, 10]);
  });

  it('name the option for hours in a field of seconds', async () => {
    const { kinds } = await problemsOf('durationSeconds\n1.5\n');
    expect(kinds[0]!.first.remedy).toContain('If the cells are hours, set --unit durationSeconds=h.');
    expect(kinds[0]!.first.kind).toBe(
      'the cell of durationSeconds is not an integer; its type in the published snapshot is integer',
    );
  });

  it.each<[string, string, object]>([
    ['days that have two meanings', 'day\n01/02/2026\n', {}],
    ['days that have one', 'day\n01/02/2026\n13/02/2026\n', { dateFormats: ['dd/MM/yyyy'] }],
    ['days in a column of times', 'startedAt\n13.02.2026\n', {}],
    ['days in ISO 8601 in a column of times', 'startedAt\n2026-02-13\n', {}],
    ['times in a column of days', 'day\n13.02.2026 08:00\n', {}],
    ['ids of published records', 'id,description\nE0001,a\n', { dropColumns: ['id'] }],
    ['a word that is none', 'billable\nmaybe\n', {}],
    ['words in another language', 'billable\noui\nnon\n', { trueWords: ['oui'], falseWords: ['non'] }],
  ])('propose nothing that is not clear: %s', async (_, text, expected) => {
    const { kinds } = await problemsOf(text);
    expect(kinds.length).toBeGreaterThan(0);
    expect(proposeOptions(kinds, 'UTC')).toEqual(expected);
  });
});
